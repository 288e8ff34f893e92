/** The invitation cards of the members page. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../../contracts/errors.ts'
import type { Invitation as InvitationShape } from '../../../contracts/members.ts'
import { inputField, notice, selectField } from '../../../pages/parts.ts'
import { copyable, day, emptyState, roleBadge, roleOptions, table } from '../../components.ts'
import type { Organization, PageContext } from '../../context.ts'
import { confirmDialog, formCard } from '../../forms.ts'

type Invitation = z.output<typeof InvitationShape>

/** The result of the invite form: a problem with what was submitted, or a link to pass on. */
export type Invited = { email: string; role: string; problem?: ServiceError; url?: string }

/** Owners, and admins where the owners allow it. The gateway enforces it; this only hides. */
export const mayInvite = ({ role, admins_may_invite }: Organization): boolean =>
  role === 'owner' || (role === 'admin' && admins_may_invite)

export const inviteCard = (c: PageContext, organization: Organization, invited: Invited | undefined) =>
  formCard(c, {
    title: 'Invite',
    lead: 'They receive a personal link that expires in seven days.',
    action: '/console/members/invitations',
    problem: invited?.problem,
    shown: ['email', 'role'],
    fields: html`${inputField({
      name: 'email',
      label: 'Email address',
      type: 'email',
      value: invited?.problem ? invited.email : '',
      required: true,
      maxlength: 254,
      autocomplete: 'off',
      problem: invited?.problem,
    })}
    ${selectField({
      name: 'role',
      label: 'Role',
      id: 'invite-role',
      value: invited?.role ?? 'viewer',
      options: roleOptions(organization.role),
      problem: invited?.problem,
    })}`,
    submit: 'Invite',
    className: 'inline',
  })

export const invitationLinkNotice = (email: string, url: string) =>
  notice(
    'info',
    html`<p><strong>Send this link to ${email}.</strong> No mail server is configured, so no email was sent. The link is shown only once.</p>
      ${copyable('invitation', url, 'Invitation link')}`,
  )

export const invitationTable = (
  c: PageContext,
  { role }: Organization,
  invitations: readonly Invitation[],
) =>
  invitations.length === 0
    ? emptyState('No pending invitations', 'Invitations that have not been accepted are listed here.')
    : table(
        'Pending invitations',
        ['Email', 'Role', 'Invited by', 'Expires', '(Actions)'],
        invitations.map((invitation) => [
          html`<span class="long">${invitation.email}</span>`,
          roleBadge(invitation.role),
          html`${invitation.invited_by ?? 'Operator'}`,
          day(invitation.expires_at),
          html`<div class="row-actions">${
            (role === 'owner' || !invitation.by_owner) &&
            confirmDialog(c, {
              id: `revoke-${invitation.id}`,
              label: 'Revoke',
              name: `Revoke the invitation for ${invitation.email}`,
              title: 'Revoke this invitation?',
              action: `/console/members/invitations/${invitation.id}/revoke`,
              text: `The link sent to ${invitation.email} stops working.`,
              submit: 'Revoke invitation',
            })
          }</div>`,
        ]),
      )
