/** Identity provider > Refusals: which assertions were refused, why, and what to do. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listRefusals } from '../../../contracts/identity-provider.ts'
import { REFUSALS } from '../../../contracts/identity-provider-states.ts'
import { dialog, emptyState, exactTime, listCard, pair, time } from '../../components.ts'
import { createRoutes, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { shortPrincipalLabel } from '../agents/client-labels.ts'
import { CHECKS } from './provider-labels.ts'
import { providerPage, requireProvider } from './provider-page.ts'

const LIST = listOf(listRefusals, {
  reason: { label: 'Reason', all: 'All reasons', labels: REFUSALS },
  client_id: { label: 'Client ID' },
})

type Refusal = z.output<typeof listRefusals.output>['refusals'][number]

export const providerRefusalRoutes = () => createRoutes().get('/identity-provider/refusals', showRefusals)

async function showRefusals(c: PageContext) {
  await requireProvider(c)
  const listed = await LIST.call(c, {})
  return providerPage(c, 'Refusals', {
    lead: 'Assertions that were refused in the last 30 days. Assistants are not told why.',
    body: listCard(c, {
      noun: 'refusals',
      ...LIST.parts(c, listed),
      caption: 'Refused assertions, newest first',
      columns: ['Time', 'Reason', 'Client', 'Key ID', '(Details)'],
      rows: listed.refusals.map(refusalRow),
      empty: emptyState('No refusals', 'When an assistant is refused, the reason is listed here.'),
    }),
  })
}

const unknown = html`<span class="note">Unknown</span>`

const refusalRow = (refusal: Refusal) => [
  time(refusal.at),
  html`<span title="${REFUSALS[refusal.reason]}">${REFUSALS[refusal.reason]}</span>`,
  refusal.client_id === null
    ? unknown
    : html`<span title="${refusal.client_id}"><bdi>${shortPrincipalLabel(refusal.client_id, null)}</bdi></span>`,
  refusal.key_id === null ? unknown : html`<code title="${refusal.key_id}">${refusal.key_id}</code>`,
  html`<div class="row-actions">${details(refusal)}</div>`,
]

const details = ({ id, at, reason, client_id, subject, key_id }: Refusal) =>
  dialog(
    `refusal-${id}`,
    'What to do',
    {
      title: REFUSALS[reason],
      content: html`<p>${CHECKS[reason].advice}</p>
        <dl class="pairs">
          ${pair('Time', exactTime(at))}
          ${pair('Client', client_id === null ? unknown : html`<code>${client_id}</code>`)}
          ${pair('Subject', subject === null ? unknown : html`<code>${subject}</code>`)}
          ${pair('Key ID', key_id === null ? unknown : html`<code>${key_id}</code>`)}
        </dl>
        <p class="note">Client, subject and key as the assertion had them, unverified.</p>`,
      // Closed by the cross: there is nothing to cancel.
      hasCancel: true,
    },
    `What to do: ${REFUSALS[reason]}`,
  )
