/**
 * Machine agents as clients of the authorization server (SEP-1046). The library's own client credentials have no grant id
 * and cannot be ended, so its handler is replaced: tokens are issued on the agent's standing grant.
 */
import type { JWK } from 'jose'
import Provider, { errors, type AdapterPayload, type KoaContextWithOIDC } from 'oidc-provider'
import { MACHINE_AGENT_TOKEN_SECONDS } from '../../src/contracts/limits.ts'
import { CHALLENGE_SCOPE } from '../../src/contracts/scopes.ts'
import { grantedScopes } from '../../src/cores/grants/index.ts'
import {
  findStandingGrant,
  listMachineCredentials,
  touchCredentials,
  type MachineCredential,
} from '../../src/cores/machine-agents/index.ts'
import { isSignedBy } from '../../src/trust/machine-key.ts'
import { machineSecretHash } from '../../src/trust/machine-secret.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { parseResource, resourceServers, resourceUrl } from './resources.ts'

/** Undefined without a credential: then nobody can be this client. */
export async function machineClient(
  deps: ConnectorDeps,
  clientId: string,
): Promise<AdapterPayload | undefined> {
  const credentials = await listMachineCredentials(deps, clientId)
  const secrets = credentials.flatMap(({ hash }) => hash ?? [])
  const keys = credentials.flatMap(({ jwk }) => (jwk as JWK | null) ?? [])
  const [first] = secrets
  const isByKey = keys.length > 0 && (first === undefined || presentsAssertion())
  if (!isByKey && first === undefined) return undefined
  return {
    client_id: clientId,
    svc_kind: 'machine',
    // No code and no consent: there is nobody who could be asked.
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    ...(isByKey
      ? { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } }
      : { token_endpoint_auth_method: 'client_secret_basic', client_secret: first, svc_secrets: secrets }),
  }
}

/** The library knows one method for a client, and an agent may have secrets and keys while it changes over. */
const presentsAssertion = (): boolean => Provider.ctx?.oidc?.params?.client_assertion !== undefined

export function registerMachineGrant(deps: ConnectorDeps, provider: Provider): void {
  const servers = resourceServers(deps)
  const url = resourceUrl(deps, 'platform')
  provider.registerGrantType(
    'client_credentials',
    async (ctx) => {
      const { client, params } = ctx.oidc
      refuseOtherResources(deps, params.resource)
      const found = await findStandingGrant(deps, client.clientId)
      if (!found) throw new errors.UnauthorizedClient('this machine agent has no access at the moment')
      // Read after the grant: revoked since it was authenticated, it would get a token on the grant that came after.
      const presented = await presentedCredentials(deps, ctx)
      if (presented.length === 0) throw new errors.InvalidClientAuth('the credential was revoked')
      const { grant } = found
      const token = new provider.AccessToken({
        client,
        accountId: grant.userId,
        grantId: grant.id,
        gty: 'client_credentials',
        scope: scopeFor(grantedScopes(grant), params.scope),
        resourceServer: new provider.ResourceServer(url, servers('platform')),
        // A rotated-out credential gets none that outlives it.
        expiresIn: secondsUntil(deps, [grant, ...presented]),
      })
      const value = await token.save()
      await touchCredentials(
        deps,
        presented.map(({ id }) => id),
      )
      ctx.body = {
        access_token: value,
        expires_in: token.expiration,
        scope: token.scope,
        token_type: token.tokenType,
      }
    },
    ['scope', 'resource'],
    ['resource'],
  )
}

/** Machine agents are for /platform: the other endpoint is a person's inbox, and they have none. */
function refuseOtherResources(deps: ConnectorDeps, asked: unknown): void {
  const spelled: unknown[] = asked === undefined ? [] : [asked].flat()
  const isPlatform = (one: unknown) => typeof one === 'string' && parseResource(deps, one) === 'platform'
  if (!spelled.every(isPlatform)) throw new errors.InvalidTarget()
}

/** Without a parameter all that it has. */
function scopeFor(granted: readonly string[], asked: unknown): string {
  if (typeof asked !== 'string' || asked.trim() === '') return granted.join(' ')
  const wanted = asked.split(' ')
  const left = granted.filter((scope) => wanted.includes(scope))
  // Clients repeat what the endpoint's challenge names: one that was not given it did not choose it.
  if (left.length === 0 && asked === CHALLENGE_SCOPE.platform) return granted.join(' ')
  if (left.length === 0) throw new errors.InvalidScope('none of the requested scopes is granted', asked)
  return left.join(' ')
}

function secondsUntil(
  { clock }: ConnectorDeps,
  ends: readonly { readonly expiresAt: Date | null }[],
): number {
  const now = clock().getTime()
  const left = ends.flatMap(({ expiresAt }) => expiresAt ?? []).map((end) => (end.getTime() - now) / 1000)
  return Math.min(MACHINE_AGENT_TOKEN_SECONDS, ...left.map(Math.ceil))
}

/** Which of those that are live now it was; none, where it was revoked meanwhile. */
async function presentedCredentials(
  deps: ConnectorDeps,
  ctx: KoaContextWithOIDC,
): Promise<readonly MachineCredential[]> {
  const credentials = await listMachineCredentials(deps, ctx.oidc.client!.clientId)
  const assertion = ctx.oidc.params?.client_assertion
  if (typeof assertion !== 'string') return credentials.filter(isSecret(presentedSecret(ctx)))
  // By the key and not by its name: two may have the same, or none.
  return credentials.filter(({ jwk }) => jwk !== null && isSignedBy(assertion, jwk))
}

function isSecret(secret: string) {
  const hash = machineSecretHash(secret)
  return (credential: MachineCredential): boolean => credential.hash === hash
}

/** The client has been authenticated with it, so it is well-formed. */
function presentedSecret(ctx: KoaContextWithOIDC): string {
  const posted = ctx.oidc.params?.client_secret
  if (typeof posted === 'string') return posted
  const basic = Buffer.from(ctx.get('authorization').replace(/^\S+ /, ''), 'base64').toString()
  return decodeURIComponent(basic.slice(basic.indexOf(':') + 1))
}
