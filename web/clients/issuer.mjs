// An identity provider on oidc-provider. Whoever signs in is known by the e-mail typed: anything@… is verified unless it
// begins with "unverified". The client "robot" gets JWT access tokens for any resource. Prints its URL.
// Usage: node issuer.mjs BASE_URL
import http from "node:http";
import Provider from "oidc-provider";

const [base] = process.argv.slice(2);
const server = http.createServer((request, response) => handle(request, response));
let handle = (request, response) => response.writeHead(503).end();
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: "ap", client_secret: "a-secret-of-some-length", redirect_uris: [`${base}/auth/callback`],
        post_logout_redirect_uris: [`${base}/signed-out`],
      },
      { client_id: "robot", client_secret: "another-secret-of-some-length", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    cookies: { keys: ["a key of this test"] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: "work", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 600,
        }),
      },
    },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: !id.startsWith("unverified"), groups: ["approvers"] }),
    }),
  });
  handle = provider.callback();
  console.log(url);
});
