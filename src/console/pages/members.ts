/** Members and invitations: who is in, who may what, who is on the way. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../contracts/errors.ts'
import {
  changeRole,
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  revokeInvitation,
  type Invitation,
  type Member,
} from '../../contracts/members.ts'
import { atLeast, GRANTABLE_ROLES, GrantableRole, RoleName, ROLES, type Role } from '../../contracts/roles.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import {
  backField,
  copyable,
  day,
  emptyState,
  filters,
  form,
  opens,
  pager,
  person,
  roleBadge,
  ROLE_WORDS,
  table,
} from '../parts.ts'
import { button, card, inputField, notice, problemNotice, selectField } from '../../pages/parts.ts'
import {
  backFrom,
  hasRole,
  organizationOf,
  text,
  visitOf,
  type ConsoleEnv,
  type Organization,
} from '../visit.ts'
import { mayInvite } from './may-invite.ts'

type C = Context<ConsoleEnv>
type MemberRow = z.output<typeof Member>
type InvitationRow = z.output<typeof Invitation>

export const memberPages = () =>
  new Hono<ConsoleEnv>()
    .get('/members', (c) => showMembers(c))
    .post('/members/invitations', invite)
    .post('/members/invitations/:id/revoke', revoke)
    .post('/members/leave', leave)
    .post('/members/:id/role', setRole)
    .post('/members/:id/remove', remove)

/** What an invite form left behind: a refusal with what was typed, or a link to hand over. */
type Invited = { email: string; role: string; problem?: ServiceError; url?: string }

async function showMembers(c: C, invited?: Invited) {
  const visit = visitOf(c)
  const organization = organizationOf(c)
  const asked = c.req.method === 'GET' ? c.req.query() : {}
  const role = RoleName.safeParse(asked['role']).data
  const search = asked['search']?.trim().slice(0, 120) || undefined
  const [members, invitations] = await Promise.all([
    visit.call(listMembers, { org_id: organization.id, role, search, cursor: asked['cursor'] }),
    mayInvite(organization)
      ? visit.call(listInvitations, { org_id: organization.id, cursor: asked['invitations'] })
      : undefined,
  ])
  return page(c, {
    title: 'Members',
    lead: `Who works in ${organization.name}, and in which role.`,
    status: statusOf(invited?.problem),
    body: html`
      ${invited?.url && handOver(invited.email, invited.url)}
      <div class="card card-list">
        ${filters(
          c,
          'Filter members',
          html`${inputField({ name: 'search', label: 'Name or e-mail', type: 'search', value: search ?? '', maxlength: 120 })}
          ${selectField({
            name: 'role',
            label: 'Role',
            id: 'filter-role',
            value: role ?? '',
            options: [
              { value: '', label: 'Every role' },
              ...ROLES.map((value) => ({ value, label: ROLE_WORDS[value].label })),
            ],
          })}`,
        )}
        ${
          members.members.length === 0
            ? emptyState(
                'Nobody matches',
                'Try a shorter part of the name, or every role.',
                html`<a href="/console/members">Show everybody</a>`,
              )
            : table(
                'Members',
                ['Person', 'Role', 'Joined', '(Actions)'],
                members.members.map((member) => memberCells(c, member)),
              )
        }
        ${pager(c, members.next_cursor)}
      </div>
      ${invitations && inviteCard(c, organization, invited)}
      ${invitations && card('Invitations', html`${invitationList(c, invitations.invitations)}${pager(c, invitations.next_cursor, 'invitations')}`)}
    `,
  })
}

const JOINED_BY: Record<MemberRow['joined_by'], string> = {
  creation: 'founded it',
  invitation: 'by invitation',
  domain: 'by e-mail domain',
  operator: 'added by the operator',
}

function memberCells(c: C, member: MemberRow) {
  const isMe = member.user_id === visitOf(c).me.user.id
  return [
    person(member.name, member.email, isMe && html`<span class="you">you</span>`),
    roleBadge(member.role),
    html`${day(member.joined_at)} <span class="note">${JOINED_BY[member.joined_by]}</span>`,
    html`<div class="row-actions">${memberActions(c, member, isMe)}</div>`,
  ]
}

function memberActions(c: C, member: MemberRow, isMe: boolean) {
  const visit = visitOf(c)
  const organization = organizationOf(c)
  const mayManage = hasRole(visit, 'admin') && atLeast(organization.role, member.role)
  if (!mayManage && !isMe) return null
  const path = `/console/members/${member.user_id}`
  return opens(
    `manage-${member.user_id}`,
    mayManage ? 'Manage' : 'Leave',
    {
      title: member.name,
      content: html`
        ${
          mayManage &&
          form(
            c,
            `${path}/role`,
            html`${backField(c)}
            ${selectField({
              name: 'role',
              label: 'Role',
              id: `role-${member.user_id}`,
              value: member.role,
              options: [
                ...(member.role === 'member'
                  ? [{ value: 'member', label: ROLE_WORDS.member.label, disabled: true }]
                  : []),
                ...rolesUpTo(organization.role),
              ],
              hint: 'Acts on the very next call of every token and agent they have.',
            })}
            ${button('Save role')}`,
            'stack',
          )
        }
        <div class="window-danger">
          ${
            isMe
              ? form(
                  c,
                  '/console/members/leave',
                  html`<h3>Leave</h3>
                  <p>You lose access to ${organization.name} at once, and your tokens for it stop working.</p>
                  ${button('Leave the organization', 'danger')}`,
                  'stack',
                )
              : form(
                  c,
                  `${path}/remove`,
                  html`${backField(c)}
                  <h3>Remove</h3>
                  <p>Takes their access to ${organization.name} away at once, and that of their tokens and agents.</p>
                  ${button('Remove from the organization', 'danger')}`,
                  'stack',
                )
          }
        </div>
      `,
    },
    mayManage ? `Manage ${member.name}` : `Leave ${organization.name}`,
  )
}

/** Nobody hands out more than they have. */
const rolesUpTo = (own: Role) =>
  GRANTABLE_ROLES.filter((role) => atLeast(own, role)).map((value) => ({
    value,
    label: ROLE_WORDS[value].label,
  }))

const inviteCard = (c: C, organization: Organization, invited: Invited | undefined) =>
  card(
    'Invite',
    html`${problemNotice(invited?.problem, ['email', 'role'])}
    ${form(
      c,
      '/console/members/invitations',
      html`${inputField({
        name: 'email',
        label: 'E-mail address',
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
        options: rolesUpTo(organization.role),
        problem: invited?.problem,
      })}
      ${button('Invite')}`,
      'inline',
    )}`,
    'They get a link that works for seven days and for them alone.',
  )

const handOver = (email: string, url: string) =>
  notice(
    'info',
    html`<p><strong>Hand this link to ${email}.</strong> No mail server is set, so nothing was sent. The link is shown only now.</p>
      ${copyable('invitation', url, 'Invitation link')}`,
  )

const invitationList = (c: C, invitations: readonly InvitationRow[]) =>
  invitations.length === 0
    ? emptyState(
        'No invitation is waiting',
        'Invite somebody above; until they accept, they are listed here.',
      )
    : table(
        'Invitations that wait for an answer',
        ['E-mail', 'Role', 'Invited by', 'Expires', '(Actions)'],
        invitations.map((invitation) => [
          html`<span class="long">${invitation.email}</span>`,
          roleBadge(invitation.role),
          html`${invitation.invited_by ?? 'the operator'}`,
          day(invitation.expires_at),
          html`<div class="row-actions">${opens(
            `revoke-${invitation.id}`,
            'Take back',
            {
              title: 'Take the invitation back?',
              content: form(
                c,
                `/console/members/invitations/${invitation.id}/revoke`,
                html`${backField(c)}
                  <p>The link sent to ${invitation.email} stops working.</p>
                  ${button('Take it back', 'danger')}`,
                'stack',
              ),
            },
            `Take back the invitation of ${invitation.email}`,
          )}</div>`,
        ]),
      )

async function invite(c: C) {
  const organization = organizationOf(c)
  const typed = { email: text(c.get('form'), 'email'), role: text(c.get('form'), 'role') }
  const tried = await attempt(() =>
    visitOf(c).call(inviteMember, {
      org_id: organization.id,
      email: typed.email,
      role: GrantableRole.catch('viewer').parse(typed.role),
    }),
  )
  if ('problem' in tried) return showMembers(c, { ...typed, problem: tried.problem })
  const { invitation_url: url, email } = tried.done
  // The link is a secret: it goes into this answer and not through a redirect.
  if (url !== undefined) return showMembers(c, { ...typed, email, url })
  leaveFlash(c, 'done', `The invitation is on its way to ${email}.`)
  return c.redirect('/console/members', 303)
}

const revoke = (c: C) =>
  actAndReturn(c, memberListOr(backFrom(c)), 'The invitation was taken back.', () =>
    visitOf(c).call(revokeInvitation, { org_id: organizationOf(c).id, invitation_id: idOf(c) }),
  )

const setRole = (c: C) => {
  const role = GrantableRole.catch('viewer').parse(text(c.get('form'), 'role'))
  return actAndReturn(c, memberListOr(backFrom(c)), `The role is now ${ROLE_WORDS[role].label}.`, () =>
    visitOf(c).call(changeRole, { org_id: organizationOf(c).id, user_id: idOf(c), role }),
  )
}

const remove = (c: C) =>
  actAndReturn(c, memberListOr(backFrom(c)), 'The member was removed.', () =>
    visitOf(c).call(removeMember, { org_id: organizationOf(c).id, user_id: idOf(c) }),
  )

async function leave(c: C) {
  const { id, name } = organizationOf(c)
  const visit = visitOf(c)
  const tried = await attempt(() => visit.call(removeMember, { org_id: id, user_id: visit.me.user.id }))
  if ('problem' in tried) leaveFlash(c, 'problem', tried.problem.message)
  else leaveFlash(c, 'done', `You left ${name}.`)
  return c.redirect('problem' in tried ? '/console/members' : '/console', 303)
}

const idOf = (c: C): string => c.req.param('id') ?? ''

/** A page that answered a POST has no address of its own to come back to. */
const memberListOr = (back: string): string =>
  back.startsWith('/console/members') ? back : '/console/members'
