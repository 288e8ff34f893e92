/** The integration that the list is filtered by: how it is, what to do about it, a test, and what it missed. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { recoverDeliveries, type listRecoveries } from '../../../contracts/deliveries.ts'
import { button, card } from '../../../pages/parts.ts'
import { badge, cancelButton, dialog, pair, table, time, timeToCome } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { backField, form } from '../../forms.ts'
import { KIND_LABELS, pathOf, stateAdvice, type Integration } from '../integrations/integration-labels.ts'
import { conditionBadge, type IntegrationHealth } from './integration-condition.ts'
import { DELIVERIES_PATH, failureWords } from './delivery-labels.ts'
import { testForm } from './test-form.ts'

export type Recovery = z.output<typeof listRecoveries.output>['recoveries'][number]

export function integrationPanel(
  c: PageContext,
  one: Integration,
  health: IntegrationHealth,
  recoveries: readonly Recovery[],
) {
  const advice = stateAdvice(one)
  const failure = health.last_failure
  return card(
    one.name,
    html`${advice !== undefined && html`<p>${advice}</p>`}
      <dl class="pairs pairs-beside">
        ${pair('Status', conditionBadge(health))}
        ${pair('Kind', KIND_LABELS[one.kind])}
        ${pair('Last success', one.last_success_at === null ? 'Never' : time(one.last_success_at))}
        ${failure && pair('Last failure', html`<a href="${DELIVERIES_PATH}/${failure.delivery_id}?integration=${one.id}#delivery">${failureWords(failure)}</a> ${time(failure.at)}`)}
        ${health.next_attempt_at && pair('Next attempt', timeToCome(health.next_attempt_at, c.var.deps.clock()))}
      </dl>
      <div class="actions">
        ${testForm(c, one)} ${one.state === 'active' && recoverDialog(c, one)}
        <a href="${pathOf(one)}">Settings</a>
      </div>
      ${recoveries.length > 0 && recoveryTable(recoveries)}`,
  )
}

export const RECOVER = formOf(recoverDeliveries, ['since', 'include_unconfirmed'], {
  since: { id: 'recover-since' },
  include_unconfirmed: { name: 'unconfirmed' },
})

/** Begins where the trouble began: with the last success, or with the integration. */
export const recoverDialog = (c: PageContext, one: Integration) =>
  dialog('recover', 'Recover…', {
    title: `Recover what ${one.name} missed`,
    hasCancel: true,
    content: form(
      c,
      `${pathOf(one)}/recover`,
      html`${backField(c)}
        <p>Resends everything that failed, was given up or is unconfirmed since a time, each delivery with a new ID. It runs in the background, and new events do not wait for it.</p>
        ${RECOVER.show({ now: { since: troubledSince(one) } }).all()}
        <div class="actions">${button('Recover')} ${cancelButton('recover')}</div>`,
    ),
  })

/** `failing_since` is when the first attempt failed; what it was of is older. Earlier costs nothing: only what was missed is taken. */
const troubledSince = ({ last_success_at, created_at }: Integration): string => last_success_at ?? created_at

const RECOVERY_BADGES = {
  running: badge('Running', 'wait'),
  done: badge('Done', 'on'),
  stopped: badge('Stopped', 'off'),
} as const

export const recoveryTable = (recoveries: readonly Recovery[]) =>
  table(
    'Recoveries, newest first',
    ['Recovery', 'Since', 'Status', 'Queued'],
    recoveries.map((recovery) => [
      time(recovery.created_at),
      time(recovery.since),
      RECOVERY_BADGES[recovery.state],
      html`<span class="measure">${recovery.queued}</span>`,
    ]),
  )
