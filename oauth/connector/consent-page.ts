/** The page on which a person decides what an assistant may do. No script, no logo, nothing the client can dress up. */
import { html } from 'hono/html'
import type { ClientKind } from '../../src/contracts/grants.ts'
import { SCOPES, type Resource, type Scope } from '../../src/contracts/scopes.ts'
import { brand, skeleton, type Content } from '../../src/pages/skeleton.ts'
import { notice } from '../../src/pages/parts.ts'
import { AUTH_ASSETS } from '../pages/page.ts'
import type { Person, Place } from './consent.ts'

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
}): string {
  const { asked, person, places, form, problem } = shown
  const who = asked.verifiedHost ?? 'An unverified application'
  const firstOpen = places.find((place) => place.open)
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
                  <input type="radio" name="organization" value="${place.id}" ${place === firstOpen && html`checked`} ${!place.open && html`disabled`} />
                  <span class="choice-text"><span>${place.name}</span>${place.because && html`<span class="note">${place.because}</span>`}</span>
                </label>`,
            )}
          </div>
        </fieldset>
        <fieldset>
          <legend>What may it do?</legend>
          <div class="choices">
            ${asked.scopes.map(
              (scope) =>
                html`<label class="choice">
                  <input type="checkbox" name="scope" value="${scope}" ${isOffered(scope) && html`checked`} />
                  <span class="choice-text"><span>${SCOPES[scope]}</span><span class="note">${scope}</span></span>
                </label>`,
            )}
          </div>
        </fieldset>
        ${asked.onThisComputer && notice('info', html`<p>Allow it only if you started it yourself, just now: any program on this computer can ask under this name.</p>`)}
        <div class="actions">
          <button type="submit" name="decision" value="approve" class="button button-main" ${!firstOpen && html`disabled`}>Allow</button>
          <button type="submit" name="decision" value="deny" class="button button-quiet">Deny</button>
        </div>
        <p class="note">You can narrow or end this at any time under Connected agents.</p>
      </form>`,
  )
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
