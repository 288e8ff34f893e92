/** The rules for the metadata of a client, at registration and in a document. */
import { errors } from 'oidc-provider'
import type { ConnectorDeps } from './dependencies.ts'
import { redirectUriProblem } from './redirect-uri.ts'

type Metadata = Record<string, unknown> & {
  redirect_uris?: unknown
  grant_types?: unknown
  client_name?: unknown
}

/** Adjusts what real clients send instead of refusing it: VS Code requests device_code, others scopes. */
export function normalizeClientMetadata(
  deps: ConnectorDeps,
  metadata: Metadata,
  isRegistration: boolean,
): void {
  if (isRegistration) {
    // A client cannot choose its own kind.
    metadata.svc_kind = 'dynamic'
    delete metadata.svc_document_sha256
  }
  // Built by ourselves, from the row of its agent.
  if (metadata.svc_kind === 'machine') return
  delete metadata.svc_secrets
  const grants = Array.isArray(metadata.grant_types) ? metadata.grant_types : []
  const taken = grants.filter((grant) => grant === 'authorization_code' || grant === 'refresh_token')
  metadata.grant_types = taken.length > 0 ? taken : ['authorization_code', 'refresh_token']
  // One that the operator wrote for assertions alone is never sent anywhere.
  if (metadata.svc_kind === 'pre_registered' && metadata.redirect_uris === undefined) {
    Object.assign(metadata, { redirect_uris: [], grant_types: [], response_types: [] })
    return
  }
  metadata.response_types = ['code']
  metadata.response_modes = ['query']
  for (const key of IGNORED_METADATA) delete metadata[key]
  const uris = metadata.redirect_uris
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > 10) {
    throw new errors.InvalidClientMetadata('redirect_uris must have 1 to 10 members')
  }
  for (const uri of uris) {
    const problem = typeof uri === 'string' ? redirectUriProblem(uri, deps.privateSchemes) : 'is not a string'
    if (problem !== undefined)
      throw new errors.InvalidClientMetadata(`redirect_uris, number ${uris.indexOf(uri) + 1}: ${problem}`)
  }
  metadata.application_type = uris.every((uri) => /^https?:/.test(String(uri))) ? 'web' : 'native'
  if (metadata.client_name !== undefined && typeof metadata.client_name !== 'string') {
    throw new errors.InvalidClientMetadata('client_name must be a string')
  }
  // Without a method the library issues a secret before defaults apply.
  if ((metadata.token_endpoint_auth_method ?? 'none') === 'none') {
    delete metadata.client_secret
    delete metadata.client_secret_expires_at
  }
}

const IGNORED_METADATA = [
  'scope',
  'initiate_login_uri',
  'sector_identifier_uri',
  'default_max_age',
  'default_acr_values',
  'require_auth_time',
  'contacts',
  'logo_uri',
]
