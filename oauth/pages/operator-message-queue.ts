/** For the operator: what waits to be sent, of which organization, and which targets do not answer. */
import { html } from 'hono/html'
import type { Output } from '../../src/contracts/operations.ts'
import { showMessageQueue as readQueue } from '../../src/cores/notifications/index.ts'
import { operatorPrincipal } from '../../src/http/authenticate.ts'
import { card } from '../../src/pages/parts.ts'
import { displayText } from '../connector/display-text.ts'
import { operatorPage } from './operator.ts'

export const showMessageQueue = operatorPage('message-queue', async (deps, c) => {
  const queue = await readQueue(deps)(operatorPrincipal(c), {})
  const now = deps.clock()
  const names = new Map(queue.organizations.map(({ id, name }) => [id, displayText(name) ?? id]))
  return {
    lead: queue.waiting_since
      ? `The oldest has waited for ${duration(now, queue.waiting_since)}.`
      : 'Nothing waits.',
    body: html`${card('All organizations', sizes(now, queue))}
    ${queue.organizations.map((one) =>
      card(names.get(one.id)!, html`<p class="note">${one.id}</p>${sizes(now, one)}`),
    )}
    ${queue.circuits.length > 0 && card('Open circuits', circuitList(now, queue.circuits, names))}`,
  }
})

type Queue = Output<'showMessageQueue'>
type Size = Omit<Queue, 'organizations' | 'circuits'>

function sizes(now: Date, size: Size) {
  const facts: [string, string | number][] = [
    ['Due', size.due],
    ['In flight', size.in_flight],
    ['Events waiting', size.events_waiting],
    ['Circuits open', size.circuits_open],
    ['Oldest waiting', size.waiting_since ? duration(now, size.waiting_since) : 'none'],
  ]
  return html`<dl class="pairs">
    ${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
  </dl>`
}

const circuitList = (now: Date, circuits: Queue['circuits'], names: ReadonlyMap<string, string>) =>
  html`<dl class="pairs">
    ${circuits.map(
      ({ organization_id, target, unanswered, next_probe_at }) =>
        html`<div>
          <dt>${names.get(organization_id) ?? organization_id}, ${target}</dt>
          <dd>${unanswered} without an answer, ${probe(now, next_probe_at)}</dd>
        </div>`,
    )}
  </dl>`

const probe = (now: Date, at: string | null): string =>
  at !== null && new Date(at) > now
    ? `tried again in ${duration(new Date(at), now.toISOString())}`
    : 'tried again with the next message'

function duration(now: Date, since: string): string {
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(since)) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 2 * 60 * 60) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h`
}
