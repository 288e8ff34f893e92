/**
 * Sign-in and approval of one authorization request. Everything is read anew when the form comes back; the form's
 * token binds request, person, organization list and document, so what was shown is what is approved.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createHash } from 'node:crypto'
import type Provider from 'oidc-provider'
import type { InteractionResults } from 'oidc-provider'
import { and, desc, eq, gt, isNull } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { DEFAULT_SCOPES, RESOURCE_SCOPES, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { approvedWords, sourceNames } from '../../src/cores/grants/index.ts'
import { findSession, takeSignInCode } from '../../src/cores/identity/index.ts'
import { keyedHash, randomSecret, sameSecret } from '../../src/trust/keyed-hash.ts'
import { chosenSources } from './chosen-sources.ts'
import { consentPage, expiredPage, type Asked } from './consent-page.ts'
import type { ConnectorNeeds } from './needs.ts'
import { organizationsOf, type Place } from './places.ts'
import { newGrantId, resourceMeant, resourceUrl } from './provider.ts'
import { isLoopbackRedirect, redirectHost } from './redirect-uri.ts'
import { shownText } from './shown-text.ts'
import { approval } from './store.ts'

/** What the page's door hands in and takes back; the library wants Node's own objects. */
export type Visit = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly url: URL
  readonly uid: string
  readonly cookie: (name: string) => string | undefined
  readonly setCookie: (name: string, value: string | null) => void
  readonly requestId: string
}

export type Outcome = { readonly redirect: string } | { readonly page: string; readonly status: number }

type Request = Asked & { documentSha256: string | null; params: Record<string, unknown>; redirectUri: string }

const VERIFIER = 'svc_consent_v'
const SESSION = 'svc_consent_s'

export async function showConsent(needs: ConnectorNeeds, provider: Provider, visit: Visit): Promise<Outcome> {
  const request = await readRequest(needs, provider, visit)
  if (!request) return expired()
  const person = await signedInPerson(needs, visit)
  if ('redirect' in person) return person
  const places = await organizationsOf(needs, person.userId, request)
  const again = await rememberedDecision(needs, request, person.userId, places)
  if (again) return approve(needs, provider, visit, request, person, again)
  return showPage(needs, visit, request, person, places)
}

export async function takeConsent(
  needs: ConnectorNeeds,
  provider: Provider,
  visit: Visit,
  form: URLSearchParams,
): Promise<Outcome> {
  const request = await readRequest(needs, provider, visit)
  if (!request) return expired()
  const person = await signedInPerson(needs, visit)
  if ('redirect' in person) return person
  const places = await organizationsOf(needs, person.userId, request)
  const again = (problem: string, filled?: URLSearchParams) =>
    showPage(needs, visit, request, person, places, problem, filled)
  // Also fires when the document or the person changed while the page was open: look again, then decide.
  if (!sameSecret(formToken(needs, visit, request, person.userId), form.get('form') ?? '')) {
    return again('The request changed. Look again, then decide.')
  }
  if (form.get('decision') !== 'approve') {
    return finish(provider, visit, { error: 'access_denied', error_description: 'the person said no' })
  }
  const place = places.find(({ id }) => id === form.get('organization'))
  if (!place?.open) return again('Choose an organization.', form)
  const scopes = request.scopes.filter((scope) => form.getAll('scope').includes(scope))
  if (scopes.length === 0) return again('Allow at least one thing, or deny.', form)
  const chosen = chosenSources(form, place, scopes)
  if ('problem' in chosen) return again(chosen.problem, form)
  return approve(needs, provider, visit, request, person, { orgId: place.id, scopes, ...chosen })
}

const expired = (): Outcome => ({ page: expiredPage(), status: 400 })

function showPage(
  needs: ConnectorNeeds,
  visit: Visit,
  request: Request,
  person: Person,
  places: readonly Place[],
  problem?: string,
  filled?: URLSearchParams,
): Outcome {
  const form = formToken(needs, visit, request, person.userId)
  const page = consentPage({ asked: request, person, places, form, problem, filled })
  return { page, status: problem ? 400 : 200 }
}

const formToken = (
  needs: ConnectorNeeds,
  { uid }: Visit,
  { documentSha256 }: Request,
  userId: string,
): string => keyedHash(needs.keyFor('consent'), JSON.stringify([uid, userId, documentSha256]))

/** The library finds the interaction by its cookie; the address must name the same one. */
async function readRequest(
  needs: ConnectorNeeds,
  provider: Provider,
  { incoming, outgoing, uid }: Visit,
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
  const resource = resourceMeant(needs, textOf([params.resource].flat()[0]) || resourceUrl(needs, 'platform'))
  if (!resource) return undefined
  const redirectUri = String(params.redirect_uri)
  return {
    clientId: client.clientId,
    kind: own.svc_kind ?? 'pre_registered',
    name: shownText(own.clientName),
    verifiedHost: own.svc_kind === 'metadata_document' ? new URL(client.clientId).host : null,
    redirectHost: redirectHost(redirectUri),
    // A private-use scheme is answered by whichever program here has claimed it.
    onThisComputer: isLoopbackRedirect(redirectUri) || !/^https?:/i.test(redirectUri),
    resource,
    scopes: scopesAsked(resource, textOf(params.scope)),
    documentSha256: own.svc_document_sha256 ?? null,
    params,
    redirectUri,
  }
}

/** The library keeps parameters as it got them; what is not a text is as good as absent. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function scopesAsked(resource: Resource, text: string): Scope[] {
  const asked = text.split(' ')
  const known = (RESOURCE_SCOPES[resource] as readonly Scope[]).filter((scope) => asked.includes(scope))
  return known.length > 0 ? known : [...DEFAULT_SCOPES[resource]]
}

export type Person = { userId: string; name: string; email: string }

/**
 * Sign-in lives on the app host and this page on the issuer's, so a person always comes by a single-use code, bound
 * to this browser by PKCE: nobody can plant their own sign-in here.
 */
async function signedInPerson(needs: ConnectorNeeds, visit: Visit): Promise<Person | { redirect: string }> {
  const known = visit.cookie(SESSION)
  const session = known === undefined ? undefined : await findSession(needs, openSeal(needs, visit, known))
  if (session) return session
  const [code, verifier] = [visit.url.searchParams.get('code'), visit.cookie(VERIFIER)]
  if (code !== null && verifier !== undefined) {
    const sessionId = await takeSignInCode(needs, code, verifier)
    if (sessionId !== undefined) {
      visit.setCookie(VERIFIER, null)
      visit.setCookie(SESSION, `${sessionId}.${seal(needs, visit, sessionId)}`)
      // Without the code in the address: it is spent, and a reload must not trip over it.
      return { redirect: visit.url.pathname }
    }
  }
  const fresh = randomSecret()
  visit.setCookie(VERIFIER, fresh)
  const there = new URL(needs.signInUrl)
  there.searchParams.set('return_to', new URL(visit.url.pathname, needs.issuer).href)
  there.searchParams.set('code_challenge', createHash('sha256').update(fresh).digest('base64url'))
  return { redirect: there.href }
}

const seal = (needs: ConnectorNeeds, { uid }: Visit, sessionId: string): string =>
  keyedHash(needs.keyFor('consent'), `session:${uid}:${sessionId}`)

function openSeal(needs: ConnectorNeeds, visit: Visit, cookie: string): string {
  const [sessionId = '', given = ''] = cookie.split('.')
  return sameSecret(seal(needs, visit, sessionId), given) ? sessionId : ''
}

type Decision = { orgId: string; scopes: Scope[]; sources: string[] | null }

/**
 * decisions: the page may be skipped only for an unchanged document, an earlier live grant that covers the request,
 * no prompt=consent, and a redirect that is https on the document's own host. Anything on this computer always asks:
 * a local program can borrow another's client id.
 */
async function rememberedDecision(
  needs: ConnectorNeeds,
  request: Request,
  userId: string,
  places: readonly Place[],
): Promise<Decision | undefined> {
  if (request.verifiedHost === null || request.documentSha256 === null) return undefined
  const redirect = URL.parse(request.redirectUri)
  if (redirect?.protocol !== 'https:' || redirect.host !== request.verifiedHost) return undefined
  if (textOf(request.params.prompt).split(' ').includes('consent')) return undefined
  const rows = await needs.db
    .select()
    .from(platformAccessGrants)
    .where(
      and(
        eq(platformAccessGrants.userId, userId),
        eq(platformAccessGrants.clientId, request.clientId),
        eq(platformAccessGrants.documentSha256, request.documentSha256),
        eq(platformAccessGrants.resource, request.resource),
        eq(platformAccessGrants.keyEpoch, needs.keyEpoch),
        isNull(platformAccessGrants.revokedAt),
        gt(platformAccessGrants.expiresAt, needs.clock()),
      ),
    )
    .orderBy(desc(platformAccessGrants.id))
  const covering = rows
    .filter((row) => places.some((place) => place.id === row.orgId && place.open))
    .filter(({ scopes }) => request.scopes.every((scope) => scopes.includes(scope)))
  const [newest] = covering
  if (!newest) return undefined
  // What is asked for now: the earlier grant may hold more.
  const { orgId } = newest
  const scopes = request.scopes
  if (!scopes.includes('data:read')) return { orgId, scopes, sources: [] }
  // One grant per approval, so several may live side by side. Where their data sources differ, or none are left, nobody
  // but the person knows what is meant this time.
  const others = covering.filter((row) => row.orgId === orgId)
  const isClear =
    newest.sources?.length !== 0 && others.every((row) => isSameList(row.sources, newest.sources))
  return isClear ? { orgId, scopes, sources: newest.sources } : undefined
}

const isSameList = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null ? a === b : a.length === b.length && a.every((id) => b.includes(id))

async function approve(
  needs: ConnectorNeeds,
  provider: Provider,
  visit: Visit,
  request: Request,
  person: Person,
  { orgId, scopes, sources }: Decision,
): Promise<Outcome> {
  const grant = new provider.Grant({ accountId: person.userId, clientId: request.clientId })
  // Ours sort by time and say what they are.
  grant.jti = newGrantId(needs)
  const asked = textOf(request.params.scope).split(' ')
  if (asked.includes('offline_access')) grant.addOIDCScope('offline_access')
  // Under the spelling the client used: the library looks it up by that.
  for (const spelled of [request.params.resource ?? resourceUrl(needs, request.resource)].flat()) {
    grant.addResourceScope(textOf(spelled), scopes.join(' '))
  }
  const { kind: clientKind, name: clientName, redirectHost: host, documentSha256, resource } = request
  const names = sources && (await sourceNames(needs.db, orgId, sources))
  const approved = {
    by: { kind: 'user' as const, userId: person.userId, userName: person.name, requestId: visit.requestId },
    subject: `${request.verifiedHost ?? clientName ?? request.clientId}: ${approvedWords(scopes, names)}`,
    orgId,
    clientKind,
    clientName,
    redirectHost: host,
    documentSha256,
    resource,
    scopes,
    sources,
  }
  const grantId = await approval.run(approved, () => grant.save())
  visit.setCookie(SESSION, null)
  return finish(provider, visit, {
    login: { accountId: person.userId, remember: false },
    consent: { grantId },
  })
}

async function finish(provider: Provider, visit: Visit, result: InteractionResults): Promise<Outcome> {
  const options = { mergeWithLastSubmission: false }
  return { redirect: await provider.interactionResult(visit.incoming, visit.outgoing, result, options) }
}
