/** The page on which a person decides what an assistant may do. No script, no logo, nothing the client can dress up. */
import { html } from 'hono/html'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { SCOPES, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { sourceIdOf } from '../../src/cores/databases/index.ts'
import { brand, skeleton, type Content } from '../../src/pages/skeleton.ts'
import { notice } from '../../src/pages/parts.ts'
import { sourceChoice } from '../../src/pages/source-choice.ts'
import { AUTH_ASSETS } from '../pages/page.ts'
import { sourceFields } from './chosen-sources.ts'
import type { Person } from './consent.ts'
import type { Place } from './places.ts'

export type Asked = {
  clientId: string
  kind: ClientKind
  /** What the client calls itself; nobody checked it. */
  name: string | null
  /** The host that serves its metadata document: the one thing about it that is proven. */
  verifiedHost: string | null
  redirectHost: string
  onThisComputer: boolean
  resource: Resource
  scopes: Scope[]
}

/** Reading is offered, writing must be chosen; marking one's own notifications as read harms nobody. */
const isOffered = (scope: Scope): boolean => scope.endsWith(':read') || scope === 'notifications:write'

const shell = (title: string, body: Content): string => {
  const page = skeleton(
    { title: `${title} · svc`, assets: AUTH_ASSETS, script: false },
    html`<main id="content" class="outside consent" tabindex="-1">
      ${brand('/console')}
      <h1>${title}</h1>
      ${body}
    </main>`,
  )
  if (page instanceof Promise) throw new TypeError('a page was given something to wait for')
  // An object to Koa, which would answer JSON.
  return page.toString()
}

export function consentPage(shown: {
  asked: Asked
  person: Person
  places: readonly Place[]
  form: string
  problem?: string | undefined
  /** What was filled in already: a form that was refused must not come back allowing more. */
  filled?: URLSearchParams | undefined
}): string {
  const { asked, person, places, form, problem, filled } = shown
  const who = asked.verifiedHost ?? 'An unverified application'
  const open = places.filter((place) => place.open)
  const chosen = open.find((place) => place.id === filled?.get('organization')) ?? open[0]
  const isTicked = (scope: Scope) => filled?.getAll('scope').includes(scope) ?? isOffered(scope)
  return shell(
    `${who} asks for access`,
    html`${problem && notice('problem', html`<p>${problem}</p>`)}
      ${facts([
        asked.name !== null && [
          'Calls itself',
          // Isolated: a name in a right-to-left script must not turn our own words around.
          html`<bdi>“${asked.name}”</bdi> <span class="note">Nobody checked that.</span>`,
        ],
        [
          'Answer goes to',
          html`<strong>${asked.redirectHost}</strong>
            ${asked.onThisComputer && html`<span class="note">A program on the computer you are using.</span>`}`,
        ],
        ['You are', html`<strong>${person.name}</strong> <span class="note">${person.email}</span>`],
      ])}
      ${places.length === 0 && notice('problem', html`<p>You do not belong to an organization yet.</p>`)}
      <form method="post" class="card">
        <input type="hidden" name="form" value="${form}" />
        <fieldset>
          <legend>In which organization?</legend>
          <div class="choices">
            ${places.map(
              (place) =>
                html`<label class="choice">
                  <input type="radio" name="organization" value="${place.id}" ${place === chosen && html`checked`} ${!place.open && html`disabled`} />
                  <span class="choice-text"><span>${place.name}</span>${place.because && html`<span class="note">${place.because}</span>`}</span>
                </label>
                ${place.open && asked.scopes.includes('data:read') && sourcesIn(place, filled)}`,
            )}
          </div>
        </fieldset>
        <fieldset>
          <legend>What may it do?</legend>
          <div class="choices">
            ${asked.scopes.map(
              (scope) =>
                html`<label class="choice">
                  <input type="checkbox" name="scope" value="${scope}" ${isTicked(scope) && html`checked`} />
                  <span class="choice-text"><span>${SCOPES[scope]}</span><span class="note">${scope}</span></span>
                </label>`,
            )}
          </div>
        </fieldset>
        ${asked.onThisComputer && notice('info', html`<p>Allow it only if you started it yourself, just now: any program on this computer can ask under this name.</p>`)}
        <div class="actions">
          <button type="submit" name="decision" value="approve" class="button button-main" ${!chosen && html`disabled`}>Allow</button>
          <button type="submit" name="decision" value="deny" class="button button-quiet">Deny</button>
        </div>
        <p class="note">You can narrow or end this at any time under Connected agents.</p>
      </form>`,
  )
}

/** Stands behind its organization: without a script, that is what lets CSS show the list of the chosen one alone. */
function sourcesIn(place: Place, filled: URLSearchParams | undefined) {
  if (place.sources.length === 0) {
    return html`<p class="of-choice note">No data source of ${place.name} is open to you yet. It may ask those that you may ask later.</p>`
  }
  const fields = sourceFields(place.id)
  return sourceChoice({
    legend: html`Which data sources of ${place.name}?`,
    fields,
    all: 'All that I may ask, also later ones',
    sources: place.sources.map(({ id, name, title }) => ({ id, name: title, note: sourceIdOf(name) })),
    isLimited: filled?.get(fields.which) === 'chosen',
    isTicked: (id) => filled?.getAll(fields.source).includes(id) ?? false,
    className: 'of-choice',
  })
}

const facts = (rows: readonly (readonly [string, Content] | false)[]) =>
  html`<dl class="pairs">
    ${rows.map((row) => row && html`<div><dt>${row[0]}</dt><dd>${row[1]}</dd></div>`)}
  </dl>`

export const expiredPage = (): string =>
  shell(
    'This request has expired',
    html`<p class="lead">It was answered already, took longer than ten minutes, or was begun in another browser.
      Start again from your assistant.</p>`,
  )

/** An error at the authorization endpoint that must not be redirected: said to the person, with what to do. */
export const errorPage = (said: {
  title: string
  lead: string
  details: readonly (readonly [string, string])[]
}): string =>
  shell(
    said.title,
    html`<p class="lead">${said.lead}</p>
      ${said.details.length > 0 && facts(said.details.map(([word, value]) => [word, html`<code>${value}</code>`] as const))}`,
  )
