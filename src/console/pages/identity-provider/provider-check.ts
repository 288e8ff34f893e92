/** What a check of the identity provider found: its metadata, its keys, and an assertion that was tried. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { probeIdentityProvider } from '../../../contracts/identity-provider.ts'
import { REFUSALS } from '../../../contracts/identity-provider-states.ts'
import { icon } from '../../../pages/icons.ts'
import { button, notice, problemNotice, type Content } from '../../../pages/parts.ts'
import { pair } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { form } from '../../forms.ts'
import { IDENTITY_PROVIDER } from '../../navigation.ts'
import { CHECKS } from './provider-labels.ts'

export type Checked = z.output<typeof probeIdentityProvider.output>
type Tried = NonNullable<Checked['assertion']>

export const CHECK = formOf(probeIdentityProvider, ['assertion'], { assertion: { id: 'tried' } })

export function checkForm(c: PageContext, refused: Refused | undefined) {
  const shown = CHECK.show({ refused })
  return html`${problemNotice(shown.problem, shown.shown)}
    ${form(c, `${IDENTITY_PROVIDER}/check`, html`${shown.all()} ${button('Check', 'quiet')}`)}`
}

export const checkResults = ({ metadata, keys, keys_problem, assertion }: Checked) =>
  html`<ul class="checks">
      ${metadata.problem === null ? checkLine('good', 'Its metadata was read') : checkLine('bad', `Its metadata: ${metadata.problem}`)}
      ${metadata.problem === null && !metadata.is_pinned && checkLine('bad', html`Its keys moved to <code>${metadata.jwks_uri}</code>. An owner must switch it on again.`)}
      ${keysLine(keys, keys_problem)}
    </ul>
    ${assertion && triedAssertion(assertion)}`

function keysLine(keys: Checked['keys'], problem: string | null) {
  if (problem !== null) return checkLine('bad', `Its keys: ${problem}`)
  if (keys.length === 0) return checkLine('bad', 'It has no key that an assertion can be signed with')
  const named = keys.map(
    ({ kid, kty, alg }, at) => html`${at > 0 && ', '}<code>${kid ?? 'no key ID'}</code> (${alg ?? kty})`,
  )
  return checkLine('good', html`${keys.length === 1 ? '1 key' : `${keys.length} keys`} found: ${named}`)
}

function triedAssertion(tried: Tried) {
  const { refusal, checks, subject, client_id, user } = tried
  return html`${
    refusal === null
      ? notice('done', html`<p><strong>This assertion would be accepted.</strong></p>`)
      : notice(
          subject === null ? 'problem' : 'info',
          html`<p><strong>${REFUSALS[refusal]}.</strong> ${CHECKS[refusal].advice}</p>
            ${subject !== null && html`<p>The assertion itself is valid.</p>`}`,
        )
  }
  ${
    subject !== null &&
    html`<dl class="pairs">
      ${pair('Subject', html`<code>${subject}</code>`)} ${client_id && pair('Client', html`<code>${client_id}</code>`)}
      ${pair('Person', user ? html`${user.name} <span class="note">${user.email}</span>` : 'Not linked yet')}
    </dl>`
  }
  <ul class="checks checks-columns" aria-label="Checks of the assertion">
    ${checks.map(({ check, result }) => checkLine(RESULT_KINDS[result], html`${CHECKS[check].label}<span class="unseen">: ${RESULT_WORDS[result]}</span>`))}
  </ul>`
}

const RESULT_KINDS = { passed: 'good', failed: 'bad', not_reached: 'note' } as const
const RESULT_WORDS = { passed: 'passed', failed: 'failed', not_reached: 'not reached' } as const

const checkLine = (kind: 'good' | 'bad' | 'note', text: Content) =>
  html`<li class="check check-${kind}"><span class="check-mark">${kind !== 'note' && icon(kind === 'good' ? 'check' : 'close')}</span><div>${text}</div></li>`
