/** For the operator: the slots of dynamic registration, who takes them, and a way to free one. */
import { html } from 'hono/html'
import * as z from 'zod'
import { notFound } from '../../src/contracts/errors.ts'
import { evictRegistration as operation } from '../../src/contracts/grants.ts'
import type { Output } from '../../src/contracts/operations.ts'
import { DYNAMIC_CLIENTS, PAGE_MAX } from '../../src/contracts/limits.ts'
import { evictRegistration, listRegistrations } from '../../src/cores/grants/index.ts'
import { operatorPrincipal } from '../../src/http/authenticate.ts'
import type { HttpContext } from '../../src/http/context.ts'
import { button, card, linkButton } from '../../src/pages/parts.ts'
import { hiddenFields, readForm } from '../browser-session.ts'
import { displayText } from '../connector/display-text.ts'
import type { AuthDeps } from '../dependencies.ts'
import { isOperator } from '../operator-session.ts'
import { OPERATOR_PAGES, operatorPage } from './operator.ts'

const PATH = OPERATOR_PAGES.registrations.path

export const showRegistrations = operatorPage('registrations', async (deps, c) => {
  const cursor = c.req.query('cursor')
  const list = await listRegistrations(deps)(operatorPrincipal(c), { limit: PAGE_MAX, cursor })
  return {
    lead: `${list.slots.used} of ${list.slots.total} slots are used. An origin has ${list.slots.per_origin}, an address ${list.slots.per_address}, a /56 ${DYNAMIC_CLIENTS.perBlock}, a /48 ${DYNAMIC_CLIENTS.perSite}.`,
    body: html`${list.addresses.length > 0 && card('Slots by address', addressList(list))}
      ${list.registrations.map((one) => registrationCard(deps, c, one))}
      ${list.next_cursor && linkButton(`${PATH}?cursor=${list.next_cursor}`, 'Next page', 'quiet')}`,
  }
})

export async function submitEviction(deps: AuthDeps, c: HttpContext) {
  const fields = await readForm(deps, c)
  if (!isOperator(deps, c)) throw notFound()
  const input = z.safeParse(operation.input, fields)
  if (!input.success) throw notFound()
  await evictRegistration(deps)(operatorPrincipal(c), input.data)
  return c.redirect(PATH, 303)
}

type List = Output<'listRegistrations'>
type Registration = List['registrations'][number]

const addressList = ({ addresses }: List) =>
  html`<dl class="pairs">
    ${addresses.map(({ address, used }) => html`<div><dt>${address}</dt><dd>${used}</dd></div>`)}
  </dl>`

function registrationCard(deps: AuthDeps, c: HttpContext, registration: Registration) {
  // The name is the client's own choice.
  const name = displayText(registration.name) ?? 'No name'
  const facts: [string, string | number][] = [
    ['Address', registration.address ?? 'unknown'],
    ['Redirects to', registration.redirect_uris.join(', ')],
    ['Live grants', registration.live_grants],
    ['Registered', day(registration.created_at)],
    ['Expires', registration.is_active ? day(registration.expires_at) : 'Turned off'],
  ]
  return html`<section class="card" aria-label="${registration.client_id}">
    <h2><bdi>${name}</bdi></h2>
    <p class="note">${registration.client_id}</p>
    <dl class="pairs">
      ${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
    </dl>
    <form method="post" action="${PATH}">
      ${hiddenFields(deps, c, { client_id: registration.client_id })}
      ${registration.live_grants > 0 && html`<p class="note">Its agents are disconnected.</p>`}
      ${button('Evict', 'danger')}
    </form>
  </section>`
}

const day = (time: string | null): string => time?.slice(0, 10) ?? ''
