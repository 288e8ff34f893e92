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

const shell = (title: string, body: Content): string =>
  String(
    skeleton(
      { title: `${title} · svc`, assets: AUTH_ASSETS, script: false },
      html`<main id="content" class="outside consent" tabindex="-1">
        ${brand('/console')}
        <h1>${title}</h1>
        ${body}
      </main>`,
    ),
  )

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
      <p class="lead">
        ${asked.name && html`It calls itself “${asked.name}”; nobody checked that.`} You are signed in as
        <strong>${person.name}</strong> (${person.email}).
      </p>
      ${places.length === 0 && notice('problem', html`<p>You do not belong to an organization yet.</p>`)}
      <form method="post" class="card">
        <input type="hidden" name="form" value="${form}" />
        <fieldset>
          <legend>In which organization?</legend>
          ${places.map(
            (place) =>
              html`<label class="choice">
                <input type="radio" name="organization" value="${place.id}" ${place === firstOpen && html`checked`} ${!place.open && html`disabled`} />
                <span class="choice-text"><span>${place.name}</span>${place.because && html`<span class="note">${place.because}</span>`}</span>
              </label>`,
          )}
        </fieldset>
        <fieldset>
          <legend>What may it do?</legend>
          ${asked.scopes.map(
            (scope) =>
              html`<label class="choice">
                <input type="checkbox" name="scope" value="${scope}" ${isOffered(scope) && html`checked`} />
                <span class="choice-text"><span>${SCOPES[scope]}</span><span class="note">${scope}</span></span>
              </label>`,
          )}
        </fieldset>
        <p>
          The answer goes to <strong>${asked.redirectHost}</strong>${
            asked.onThisComputer &&
            html`, a program on the
          computer you are using: allow it only if you started it just now`
          }.
        </p>
        <div class="actions">
          <button type="submit" name="decision" value="approve" class="button button-main" ${!firstOpen && html`disabled`}>Allow</button>
          <button type="submit" name="decision" value="deny" class="button button-quiet">Deny</button>
        </div>
        <p class="note">You can narrow or end this at any time under Connected agents.</p>
      </form>`,
  )
}

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
      ${said.details.length > 0 && html`<dl class="about-error">${said.details.map(([word, value]) => html`<dt>${word}</dt><dd><code>${value}</code></dd>`)}</dl>`}`,
  )
