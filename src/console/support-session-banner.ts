/** Shown on every page to support staff who are in an organization that is not theirs. */
import { html } from 'hono/html'
import { elevateSupportSession } from '../contracts/support.ts'
import { notice } from '../pages/parts.ts'
import { exactTime } from './components.ts'
import { sessionOf, type PageContext } from './context.ts'
import { formOf } from './fields.ts'
import { form, personalForm, confirmDialog } from './forms.ts'

const ELEVATE = formOf(elevateSupportSession, ['reason'], {
  reason: { id: 'elevation-reason', hint: 'Shown to the owners.' },
})

export function supportSessionBanner(c: PageContext) {
  const { support, organization } = sessionOf(c)
  if (!support || !organization) return null
  const mayWrite = support.level === 'admin'
  return notice(
    'info',
    html`<p>
        <strong>Support session in ${organization.name}</strong>, ${mayWrite ? 'read and write' : 'read only'}, until
        ${exactTime(support.expires_at)}. The owners can see it, and everything you do is recorded in the audit trail.
      </p>
      <div class="actions">
        ${
          !mayWrite &&
          confirmDialog(c, {
            id: 'elevate-support-session',
            label: 'Request write access',
            title: 'Request write access?',
            action: '/console/support-session/elevate',
            text: 'Owners and admins are notified immediately.',
            fields: ELEVATE.show().all(),
            submit: 'Get write access',
            kind: 'main',
          })
        }
        ${form(c, '/console/support-session/end', html`<button type="submit" class="button button-quiet button-small">End session</button>`, '')}
        ${personalForm(c, '/console/support-session/leave', html`<button type="submit" class="button button-quiet button-small">Leave without ending</button>`, '')}
      </div>`,
  )
}
