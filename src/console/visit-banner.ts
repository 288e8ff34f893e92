/** Said on every page to support staff who are in an organization that is not theirs. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import { button, inputField, notice } from '../pages/parts.ts'
import { form, opens, personalForm, time } from './parts.ts'
import { visitOf, type ConsoleEnv } from './visit.ts'

export function visitBanner(c: Context<ConsoleEnv>) {
  const { support, organization } = visitOf(c)
  if (!support || !organization) return null
  const mayWrite = support.level === 'admin'
  return notice(
    'info',
    html`<p>
        <strong>You are visiting ${organization.name} as support staff</strong>, ${mayWrite ? 'reading and writing' : 'reading only'}, until
        ${time(support.expires_at)}. Its owners see it, and everything you do is in its audit trail.
      </p>
      <div class="actions">
        ${
          !mayWrite &&
          opens('raise-visit', 'Raise to admin', {
            title: 'Raise the visit to admin?',
            content: form(
              c,
              '/console/support-visit/raise',
              html`<p>Owners and admins are told at once.</p>
                ${inputField({ name: 'reason', id: 'raise-reason', label: 'Reason', required: true, minlength: 3, maxlength: 500, hint: 'The owners read it.' })}
                ${button('Raise the visit')}`,
              'stack',
            ),
          })
        }
        ${form(c, '/console/support-visit/end', html`<button type="submit" class="button button-quiet button-small">End the visit</button>`)}
        ${personalForm(c, '/console/support-visit/leave', html`<button type="submit" class="button button-quiet button-small">Back to your own</button>`)}
      </div>`,
  )
}
