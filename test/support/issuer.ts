/** The identity provider of an organization, as svc sees it: metadata, keys, and the assertions it signs. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { DocumentHost } from './document-host.ts'
import { unique, type Person } from './make.ts'
import type { TestSystem } from './system.ts'

export type Issuer = {
  readonly issuer: string
  readonly keysPath: string
  /** Where its metadata says that its keys are. */
  readonly putMetadata: (changes?: Record<string, unknown>) => void
  /** One for a person, with their address; `changes` go over its claims, and undefined takes one away. */
  readonly assertionFor: (
    person: Pick<Person, 'email'>,
    changes?: Record<string, unknown>,
    header?: Record<string, unknown>,
  ) => Promise<string>
  /** What it calls them. */
  readonly subjectOf: (person: Pick<Person, 'email'>) => string
}

/** Under a path of the host, so that one host is many of them. */
export async function makeIssuer(
  system: Pick<TestSystem, 'clock' | 'system'>,
  host: DocumentHost,
  path = `/${unique('idp')}`,
): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const [issuer, kid, keysPath] = [host.origin + path, unique('key'), `${path}/jwks`]
  const putMetadata = (changes: Record<string, unknown> = {}) =>
    void host.put(`${path}/.well-known/openid-configuration`, {
      issuer,
      jwks_uri: host.origin + keysPath,
      ...changes,
    })
  putMetadata()
  host.put(keysPath, { keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }] })
  const subjectOf = ({ email }: Pick<Person, 'email'>) => `at-provider|${email}`
  return {
    issuer,
    keysPath,
    putMetadata,
    subjectOf,
    assertionFor(person, changes = {}, header = {}) {
      const now = Math.floor(system.clock.now().getTime() / 1000)
      return new SignJWT({
        iss: issuer,
        sub: subjectOf(person),
        aud: system.system.config.AUTH_URL.origin,
        client_id: 'an-assistant',
        jti: unique('jti'),
        iat: now,
        exp: now + 300,
        email: person.email,
        email_verified: true,
        ...changes,
      })
        .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid, ...header })
        .sign(privateKey)
    },
  }
}
