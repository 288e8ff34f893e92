/** The button that sends a test to an integration; refused, it comes back to the page it is on. */
import { html } from 'hono/html'
import type { IntegrationState } from '../../../contracts/integrations.ts'
import type { Content } from '../../../pages/parts.ts'
import type { PageContext } from '../../context.ts'
import { backField, form } from '../../forms.ts'
import { DELIVERIES_PATH } from './delivery-labels.ts'

type Tested = { id: string; name: string; state: IntegrationState }

const LOOKS = {
  main: 'button button-main',
  quiet: 'button button-quiet',
  row: 'button button-quiet button-small',
} as const

/** Nothing where a test would be refused. In a row it says to screen readers of which one it is. */
export const testForm = (
  c: PageContext,
  { id, name, state }: Tested,
  look: keyof typeof LOOKS = 'main',
): Content =>
  state === 'active' &&
  form(
    c,
    `${DELIVERIES_PATH}/test`,
    html`${backField(c)}<input type="hidden" name="integration" value="${id}" />
      <button type="submit" class="${LOOKS[look]}">Send test${look === 'row' && html`<span class="unseen"> to ${name}</span>`}</button>`,
    '',
  )
