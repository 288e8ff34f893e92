/** The consent page. No script, no logo, nothing that the client can style. */
import { html } from 'hono/html'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { SCOPES, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { sourceIdOf } from '../../src/cores/databases/index.ts'
import { brand, skeleton, type Content } from '../../src/pages/skeleton.ts'
import { notice } from '../../src/pages/parts.ts'
import { sourceChoice } from '../../src/pages/source-choice.ts'
import { facts, organizationChoice } from '../pages/organization-choice.ts'
import { AUTH_ASSETS } from '../pages/page.ts'
import { sourceFields } from './chosen-sources.ts'
import type { OrganizationChoice } from './organization-choices.ts'

export type ConsentRequest = {
  clientId: string
  kind: ClientKind
  /** Chosen by the client, unverified. */
  name: string | null
  /** The host of its metadata document: the only verified fact about it. */
  verifiedHost: string | null
  redirectHost: string
  onThisComputer: boolean
  resource: Resource
  scopes: Scope[]
  /** Otherwise the connection ends with the first access token. */
  canRefresh: boolean
}

/** `lastOrgId` is the organization that they used last in the console. */
export type Person = {
  sessionId: string
  userId: string
  name: string
  email: string
  lastOrgId: string | null
}

/** Read scopes are preselected, write scopes are not; marking one's own notifications as read is harmless. */
const isPreselected = (scope: Scope): boolean => scope.endsWith(':read') || scope === 'notifications:write'

const shell = (title: string, body: Content): string => {
  const page = skeleton(
    { title: `${title} · svc`, assets: AUTH_ASSETS, script: false },
    html`<main id="content" class="outside consent" tabindex="-1">
      ${brand('/console')}
      <h1>${title}</h1>
      ${body}
    </main>`,
  )
  if (page instanceof Promise) throw new TypeError('a page contains a promise')
  // Koa would send the object as JSON.
  return page.toString()
}

export function consentPage(shown: {
  request: ConsentRequest
  person: Person
  organizations: readonly OrganizationChoice[]
  form: string
  problem?: string | undefined
  /** The submitted values: a refused form must not come back with more selected. */
  filled?: URLSearchParams | undefined
}): string {
  const { request, person, organizations, form, problem, filled } = shown
  const who = request.verifiedHost ?? 'An unverified application'
  const hasOpen = organizations.some((organization) => organization.isOpen)
  const isTicked = (scope: Scope) => filled?.getAll('scope').includes(scope) ?? isPreselected(scope)
  return shell(
    `${who} requests access`,
    html`${problem && notice('problem', html`<p>${problem}</p>`)}
      ${
        // Before all else: in a low window the buttons stay in view, and what comes last is behind them.
        request.onThisComputer &&
        notice(
          'info',
          html`<p>Allow this only if you started it yourself just now. Any program on this computer can use this name.</p>`,
        )
      }
      ${facts([
        request.name !== null && [
          'Client name',
          // Isolated: a name in a right-to-left script must not reorder our own text.
          html`<bdi>“${request.name}”</bdi> <span class="note">unverified, chosen by the client</span>`,
        ],
        [
          'Redirects to',
          html`<strong>${request.redirectHost}</strong>
            ${request.onThisComputer && html`<span class="note">A program on this computer.</span>`}`,
        ],
        ['Signed in as', html`<strong>${person.name}</strong> <span class="note">${person.email}</span>`],
        ['Lasts', howLong(request)],
      ])}
      ${organizations.length === 0 && notice('problem', html`<p>You are not a member of an organization yet.</p>`)}
      <form method="post" class="card">
        <input type="hidden" name="form" value="${form}" />
        <div class="consent-columns">
        ${organizationChoice(
          organizations.map((organization) => ({ ...organization, note: reachOf(request, organization) })),
          filled?.get('organization') ?? person.lastOrgId,
          (organization) =>
            organization.isOpen && request.scopes.includes('data:read') && sourcesIn(organization, filled),
        )}
        <fieldset>
          <legend>Permissions</legend>
          <div class="choices">
            ${request.scopes.map(
              (scope) =>
                html`<label class="choice">
                  <input type="checkbox" name="scope" value="${scope}" ${isTicked(scope) && html`checked`} />
                  <span class="choice-text"><span>${SCOPES[scope]}</span><span class="note">${scope}</span></span>
                </label>`,
            )}
          </div>
        </fieldset>
        </div>
        <div class="actions decide">
          <button type="submit" name="decision" value="approve" class="button button-main" ${!hasOpen && html`disabled`}>Allow</button>
          <button type="submit" name="decision" value="deny" class="button button-quiet" formnovalidate>Deny</button>
          <button type="submit" name="decision" value="sign_in" class="button button-quiet" formnovalidate>Switch account</button>
        </div>
        <p class="note">You can narrow or revoke this access at any time under Connected agents.</p>
      </form>`,
  )
}

const DAY_SECONDS = 24 * 60 * 60

function howLong({ canRefresh }: ConsentRequest): string {
  const { grant, refreshToken, accessToken } = CONNECTOR_SECONDS
  if (!canRefresh) return `${accessToken / 60} minutes`
  return `${grant / DAY_SECONDS} days; less if it is not used for ${refreshToken / DAY_SECONDS} days, or you revoke it`
}

/** What it would reach if all of it were allowed at this moment. */
function reachOf(
  { scopes }: ConsentRequest,
  { isOpen, sources, apps }: OrganizationChoice,
): string | undefined {
  if (!isOpen) return undefined
  const reached = [
    ...(scopes.includes('data:read') ? [counted(sources.length, 'data source', 'data sources')] : []),
    ...(apps === null ? [] : [counted(apps, 'app', 'apps')]),
  ]
  return reached.length === 0 ? undefined : `Reaches now: ${reached.join(', ')}`
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

/** More names than this make a line that nobody reads; all of them are in the list below it. */
const NAMES_SHOWN = 6

function namesOf(sources: OrganizationChoice['sources']): string {
  const names = sources.slice(0, NAMES_SHOWN).map(({ title }) => title)
  const more = sources.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** By name, and of which of them not all rows. */
function reachedSources({ sources }: OrganizationChoice) {
  const limited = sources.filter(({ limitsRows }) => limitsRows)
  return html`<p class="note">Now: <bdi>${namesOf(sources)}</bdi>. ${
    limited.length === 0
      ? 'All rows of them.'
      : html`Of <bdi>${namesOf(limited)}</bdi> only the rows that you may see.`
  }</p>`
}

function sourcesIn(organization: OrganizationChoice, filled: URLSearchParams | undefined) {
  if (organization.sources.length === 0) {
    return html`<p class="of-choice note">You cannot query any data source of ${organization.name} yet. It may query those that you can query later.</p>`
  }
  const fields = sourceFields(organization.id)
  return sourceChoice({
    legend: html`Data sources<span class="unseen"> of ${organization.name}</span>`,
    fields,
    all: 'All that I can query, including future ones',
    sources: organization.sources.map(({ id, name, title }) => ({ id, name: title, note: sourceIdOf(name) })),
    isLimited: filled?.get(fields.which) === 'chosen',
    isTicked: (id) => filled?.getAll(fields.source).includes(id) ?? false,
    className: 'of-choice',
    note: reachedSources(organization),
  })
}

export const expiredPage = (): string =>
  shell(
    'This request has expired',
    html`<p class="lead">It was already answered, took longer than ten minutes, or was started in another browser.
      Start again from your assistant.</p>`,
  )

/** An error of the authorization endpoint that must not be redirected to the client. */
export const errorPage = (error: {
  title: string
  lead: string
  details: readonly (readonly [string, string])[]
}): string =>
  shell(
    error.title,
    html`<p class="lead">${error.lead}</p>
      ${error.details.length > 0 && facts(error.details.map(([label, value]) => [label, html`<code>${value}</code>`] as const))}`,
  )
