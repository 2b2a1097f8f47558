// An identity provider that nobody here wrote, set up as an organization would: node issuer.mjs ISSUER SERVER KEYFILE.
// People sign in with any e-mail address as their login and any password. It prints "ready" when it listens.
import { readFileSync } from "node:fs";
import { createPublicKey } from "node:crypto";
import Provider from "oidc-provider";

const [issuer, server, keyFile] = process.argv.slice(2);
const key = JSON.parse(readFileSync(keyFile, "utf8"));
const publicPEM = createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "pem" });

// What the directory knows of people; anybody else has a verified address and no groups.
const people = {
  "mira@example.com": { groups: ["purchasing"], name: "Mira" },
  "unverified@example.com": { email_verified: false, groups: ["purchasing"] },
  "nameless": { email: undefined },
};

function claimsOf(login) {
  return { sub: login, email: login, email_verified: true, ...people[login] };
}

// The resources that access tokens can be asked for; the last is what a provider set up wrongly would sign.
const resources = {
  [`${server}/mcp`]: { audience: `${server}/mcp` },
  "urn:example:elsewhere": { audience: "urn:example:elsewhere" },
  "urn:example:public-key-as-secret": { audience: `${server}/mcp`, jwt: { sign: { alg: "HS256", key: Buffer.from(publicPEM) } } },
};

const person = { redirect_uris: [`${server}/auth/callback`], post_logout_redirect_uris: [`${server}/signed-out`] };
const provider = new Provider(issuer, {
  clients: [
    { client_id: "ap", client_secret: "ap-secret", ...person },
    { client_id: "another", client_secret: "another-secret", ...person },
    { client_id: "robot", client_secret: "robot-secret", grant_types: ["client_credentials"], redirect_uris: [], response_types: [] },
  ],
  jwks: { keys: [key] },
  cookies: { keys: ["a secret of this test"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  findAccount: (_, login) => ({ accountId: login, claims: () => claimsOf(login) }),
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({ scope: "openid email", accessTokenFormat: "jwt", accessTokenTTL: 600, ...resources[resource] }),
    },
  },
});

const { hostname, port } = new URL(issuer);
provider.listen(Number(port), hostname, () => console.log("ready"));
