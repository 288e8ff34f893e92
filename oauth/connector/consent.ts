/**
 * Sign-in and approval of one authorization request. Everything is read again when the form is submitted; the form's
 * token binds request, user, document and the texts of the scopes, so that what was shown is what is approved.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createHash } from 'node:crypto'
import type Provider from 'oidc-provider'
import type { InteractionResults } from 'oidc-provider'
import { and, desc, eq, gt, isNull } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  DEFAULT_SCOPES,
  RESOURCE_SCOPES,
  SCOPE_EDITION,
  type Resource,
  type Scope,
} from '../../src/contracts/scopes.ts'
import { describeApproval, grantedScopes, sourceNames } from '../../src/cores/grants/index.ts'
import { findSession, consumeSignInCode } from '../../src/cores/identity/index.ts'
import { keyedHash, randomSecret, sameSecret } from '../../src/trust/keyed-hash.ts'
import { chosenSources } from './chosen-sources.ts'
import { consentPage, expiredPage, type ConsentRequest, type Person } from './consent-page.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { displayText } from './display-text.ts'
import { organizationChoices, type OrganizationChoice } from './organization-choices.ts'
import { isLoopbackRedirect, redirectHost } from './redirect-uri.ts'
import { parseResource, resourceUrl } from './resources.ts'
import { approval } from './storage-adapter.ts'

/** One request to the consent page; the library needs Node's own objects. */
export type Interaction = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly url: URL
  readonly uid: string
  readonly cookie: (name: string) => string | undefined
  readonly setCookie: (name: string, value: string | null) => void
  readonly requestId: string
}

export type Outcome = { readonly redirect: string } | { readonly page: string; readonly status: number }

type Request = ConsentRequest & {
  documentSha256: string | null
  params: Record<string, unknown>
  redirectUri: string
}

const VERIFIER = 'svc_consent_v'
const SESSION = 'svc_consent_s'

/** An open interaction of a signed-in user. */
type Consent = {
  readonly deps: ConnectorDeps
  readonly provider: Provider
  readonly interaction: Interaction
  readonly request: Request
  readonly person: Person
  readonly organizations: readonly OrganizationChoice[]
}

export async function showConsent(
  deps: ConnectorDeps,
  provider: Provider,
  interaction: Interaction,
): Promise<Outcome> {
  const consent = await readConsent(deps, provider, interaction)
  if (!('request' in consent)) return consent
  const remembered = await rememberedDecision(consent)
  return remembered ? approve(consent, remembered) : showPage(consent)
}

export async function submitConsent(
  deps: ConnectorDeps,
  provider: Provider,
  interaction: Interaction,
  form: URLSearchParams,
): Promise<Outcome> {
  const consent = await readConsent(deps, provider, interaction)
  if (!('request' in consent)) return consent
  // The document or the user may have changed while the page was open.
  if (!sameSecret(formToken(consent), form.get('form') ?? '')) {
    return showPage(consent, 'The request has changed. Review it and decide again.')
  }
  if (form.get('decision') === 'sign_in') return signInAgain(consent)
  if (form.get('decision') !== 'approve') {
    return finish(consent, { error: 'access_denied', error_description: 'the user denied the request' })
  }
  const organization = consent.organizations.find(({ id }) => id === form.get('organization'))
  if (!organization?.isOpen) return showPage(consent, 'Choose an organization.', form)
  const scopes = consent.request.scopes.filter((scope) => form.getAll('scope').includes(scope))
  if (scopes.length === 0) {
    return showPage(consent, 'Select at least one permission, or deny the request.', form)
  }
  const chosen = chosenSources(form, organization, scopes)
  if ('problem' in chosen) return showPage(consent, chosen.problem, form)
  return approve(consent, { orgId: organization.id, scopes, ...chosen })
}

async function readConsent(
  deps: ConnectorDeps,
  provider: Provider,
  interaction: Interaction,
): Promise<Consent | Outcome> {
  const request = await readRequest(deps, provider, interaction)
  if (!request) return { page: expiredPage(), status: 400 }
  const person = await signedInPerson(deps, interaction)
  if ('redirect' in person) return person
  const organizations = await organizationChoices(deps, person.userId, request)
  return { deps, provider, interaction, request, person, organizations }
}

function showPage(consent: Consent, problem?: string, filled?: URLSearchParams): Outcome {
  const page = consentPage({ ...consent, form: formToken(consent), problem, filled })
  return { page, status: problem ? 400 : 200 }
}

const formToken = ({ deps, interaction, request, person }: Consent): string =>
  keyedHash(
    deps.keyFor('consent'),
    JSON.stringify([interaction.uid, person.userId, request.documentSha256, SCOPE_EDITION]),
  )

/** The library finds the interaction by its cookie; the URL must name the same one. */
async function readRequest(
  deps: ConnectorDeps,
  provider: Provider,
  { incoming, outgoing, uid }: Interaction,
): Promise<Request | undefined> {
  const found = await provider.interactionDetails(incoming, outgoing).catch(() => undefined)
  if (!found || found.uid !== uid) return undefined
  const { params } = found
  const client = await provider.Client.find(String(params.client_id))
  if (!client) return undefined
  const own = client as unknown as {
    svc_kind?: ClientKind
    svc_document_sha256?: string
    clientName?: string
  }
  const resource = parseResource(deps, textOf([params.resource].flat()[0]) || resourceUrl(deps, 'platform'))
  if (!resource) return undefined
  const redirectUri = String(params.redirect_uri)
  return {
    clientId: client.clientId,
    kind: own.svc_kind ?? 'pre_registered',
    name: displayText(own.clientName),
    verifiedHost: own.svc_kind === 'metadata_document' ? new URL(client.clientId).host : null,
    redirectHost: redirectHost(redirectUri),
    // A private-use scheme opens whichever program on the computer registered it.
    onThisComputer: isLoopbackRedirect(redirectUri) || !/^https?:/i.test(redirectUri),
    resource,
    scopes: requestedScopes(resource, textOf(params.scope)),
    canRefresh: client.grantTypeAllowed('refresh_token'),
    documentSha256: own.svc_document_sha256 ?? null,
    params,
    redirectUri,
  }
}

/** The library keeps parameters as received; what is not a string counts as absent. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function requestedScopes(resource: Resource, text: string): Scope[] {
  const requested = text.split(' ')
  const known = (RESOURCE_SCOPES[resource] as readonly Scope[]).filter((scope) => requested.includes(scope))
  return known.length > 0 ? known : [...DEFAULT_SCOPES[resource]]
}

/**
 * Sign-in is on the app host and this page on the issuer's, so a user always arrives with a single-use code, bound to
 * this browser by PKCE: nobody can make another browser use their sign-in.
 */
async function signedInPerson(
  deps: ConnectorDeps,
  interaction: Interaction,
): Promise<Person | { redirect: string }> {
  const known = interaction.cookie(SESSION)
  const session =
    known === undefined ? undefined : await findSession(deps, verifiedSessionId(deps, interaction, known))
  if (session) return session
  const [code, verifier] = [interaction.url.searchParams.get('code'), interaction.cookie(VERIFIER)]
  if (code !== null && verifier !== undefined) {
    const sessionId = await consumeSignInCode(deps, code, verifier)
    if (sessionId !== undefined) {
      interaction.setCookie(VERIFIER, null)
      interaction.setCookie(SESSION, `${sessionId}.${sessionSignature(deps, interaction, sessionId)}`)
      // Without the code in the URL: it is used up, and a reload must not fail.
      return { redirect: interaction.url.pathname }
    }
  }
  return { redirect: signInUrl(deps, interaction).href }
}

function signInUrl(deps: ConnectorDeps, interaction: Interaction): URL {
  const fresh = randomSecret()
  interaction.setCookie(VERIFIER, fresh)
  const there = new URL(deps.signInUrl)
  there.searchParams.set('return_to', new URL(interaction.url.pathname, deps.issuer).href)
  there.searchParams.set('code_challenge', createHash('sha256').update(fresh).digest('base64url'))
  return there
}

/** As somebody else: the sign-in page asks, although the browser is signed in. */
function signInAgain({ deps, interaction }: Consent): Outcome {
  const there = signInUrl(deps, interaction)
  there.searchParams.set('prompt', 'login')
  interaction.setCookie(SESSION, null)
  return { redirect: there.href }
}

const sessionSignature = (deps: ConnectorDeps, { uid }: Interaction, sessionId: string): string =>
  keyedHash(deps.keyFor('consent'), `session:${uid}:${sessionId}`)

function verifiedSessionId(deps: ConnectorDeps, interaction: Interaction, cookie: string): string {
  const [sessionId = '', given = ''] = cookie.split('.')
  return sameSecret(sessionSignature(deps, interaction, sessionId), given) ? sessionId : ''
}

type Decision = { orgId: string; scopes: Scope[]; sources: string[] | null }

/**
 * The page is skipped only for an unchanged document, an earlier live grant that covers the request,
 * no prompt=consent, and an https redirect on the document's own host. A redirect to this computer always shows it:
 * a local program can use another's client id.
 */
async function rememberedDecision({
  deps,
  request,
  person,
  organizations,
}: Consent): Promise<Decision | undefined> {
  if (request.verifiedHost === null || request.documentSha256 === null) return undefined
  const redirect = URL.parse(request.redirectUri)
  if (redirect?.protocol !== 'https:' || redirect.host !== request.verifiedHost) return undefined
  if (textOf(request.params.prompt).split(' ').includes('consent')) return undefined
  const rows = await deps.db
    .select()
    .from(platformAccessGrants)
    .where(
      and(
        eq(platformAccessGrants.userId, person.userId),
        eq(platformAccessGrants.clientId, request.clientId),
        eq(platformAccessGrants.documentSha256, request.documentSha256),
        eq(platformAccessGrants.resource, request.resource),
        // What an organization gave was never approved by its person.
        eq(platformAccessGrants.via, 'consent'),
        eq(platformAccessGrants.keyEpoch, deps.keyEpoch),
        isNull(platformAccessGrants.revokedAt),
        gt(platformAccessGrants.expiresAt, deps.clock()),
      ),
    )
    .orderBy(desc(platformAccessGrants.id))
  const covering = rows
    .filter(({ orgId }) => organizations.some(({ id, isOpen }) => id === orgId && isOpen))
    .filter((row) => request.scopes.every((scope) => grantedScopes(row).includes(scope)))
  const [newest] = covering
  if (!newest) return undefined
  // Only what is requested now: the earlier grant may have more.
  const { orgId } = newest
  const scopes = request.scopes
  if (!scopes.includes('data:read')) return { orgId, scopes, sources: [] }
  // One grant per approval, so several may be live. Where their data sources differ, or none are left, only the user
  // knows what is meant this time.
  const others = covering.filter((row) => row.orgId === orgId)
  const isClear =
    newest.sources?.length !== 0 && others.every((row) => isSameList(row.sources, newest.sources))
  return isClear ? { orgId, scopes, sources: newest.sources } : undefined
}

const isSameList = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null ? a === b : a.length === b.length && a.every((id) => b.includes(id))

async function approve(consent: Consent, { orgId, scopes, sources }: Decision): Promise<Outcome> {
  const { deps, provider, interaction, request, person } = consent
  const { requestId } = interaction
  const grant = new provider.Grant({ accountId: person.userId, clientId: request.clientId })
  grant.jti = makeId('grt', deps.clock().getTime())
  if (textOf(request.params.scope).split(' ').includes('offline_access')) grant.addOIDCScope('offline_access')
  // As the client spelled it: the library looks it up by that.
  for (const spelled of [request.params.resource ?? resourceUrl(deps, request.resource)].flat()) {
    grant.addResourceScope(textOf(spelled), scopes.join(' '))
  }
  const { kind: clientKind, name: clientName, redirectHost: host, documentSha256, resource } = request
  const names = sources && (await sourceNames(deps.db, orgId, sources))
  const approved = {
    by: { kind: 'user' as const, userId: person.userId, userName: person.name, requestId },
    sessionId: person.sessionId,
    subject: `${request.verifiedHost ?? clientName ?? request.clientId}: ${describeApproval(scopes, names)}`,
    orgId,
    clientKind,
    clientName,
    redirectHost: host,
    documentSha256,
    resource,
    scopes,
    sources,
  }
  const grantId = await approval
    .run(approved, () => grant.save())
    .catch((error: unknown) => {
      if (error instanceof ServiceError) return undefined
      throw error
    })
  // What they were, or the session they were in, ended at this moment: what is left is shown, or they sign in again.
  if (grantId === undefined) return showConsent(deps, provider, interaction)
  interaction.setCookie(SESSION, null)
  return finish(consent, { login: { accountId: person.userId, remember: false }, consent: { grantId } })
}

async function finish({ provider, interaction }: Consent, result: InteractionResults): Promise<Outcome> {
  const { incoming, outgoing } = interaction
  const options = { mergeWithLastSubmission: false }
  return { redirect: await provider.interactionResult(incoming, outgoing, result, options) }
}
