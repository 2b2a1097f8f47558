// Signs access tokens with the key of an issuer and a library that nobody here wrote: node forge.mjs ISSUER SERVER KEYFILE
// prints {"good": {NAME: TOKEN}, "bad": {NAME: TOKEN}}.
import { createPublicKey, webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { importJWK, SignJWT, UnsecuredJWT } from "jose";

const [issuer, server, keyFile] = process.argv.slice(2);
const jwk = JSON.parse(readFileSync(keyFile, "utf8"));
const key = await importJWK(jwk, "RS256");
const publicKey = createPublicKey({ key: jwk, format: "jwk" });
const other = (await webcrypto.subtle.generateKey(
  { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, ["sign"])).privateKey;
const now = Math.floor(Date.now() / 1000);

function claims(changes) {
  return { iss: issuer, aud: `${server}/mcp`, sub: "u1", client_id: "desk", email: "mira@example.com", email_verified: true, iat: now, exp: now + 600, ...changes };
}

function sign(changes, header = {}, secret = key) {
  return new SignJWT(claims(changes)).setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: jwk.kid, ...header }).sign(secret);
}

const pem = publicKey.export({ type: "spki", format: "pem" });
const good = {
  OneAudience: await sign({}),
  AnAudienceAmongOthers: await sign({ aud: ["https://other.example", `${server}/mcp`] }),
  WithoutAKeyName: await sign({}, { kid: undefined }),
};
const bad = {
  AnotherAudience: await sign({ aud: "https://other.example/mcp" }),
  TheClientAsAudience: await sign({ aud: "ap" }),
  AnotherIssuer: await sign({ iss: "https://evil.example" }),
  TheIssuerWithASlash: await sign({ iss: `${issuer}/` }),
  Expired: await sign({ iat: now - 900, exp: now - 300 }),
  NoExpiry: await sign({ exp: undefined }),
  NotYetValid: await sign({ nbf: now + 600 }),
  AnotherKey: await sign({}, {}, other),
  AlgorithmNone: new UnsecuredJWT(claims({})).encode(),
  HS256WithThePublicKeyPEM: await sign({}, { alg: "HS256" }, new TextEncoder().encode(pem)),
  HS256WithThePublicKeyDER: await sign({}, { alg: "HS256" }, new Uint8Array(publicKey.export({ type: "spki", format: "der" }))),
  HS256WithTheModulus: await sign({}, { alg: "HS256" }, new Uint8Array(Buffer.from(jwk.n, "base64url"))),
};
console.log(JSON.stringify({ good, bad }));
