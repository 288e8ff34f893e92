/** Members, their roles, and invitations. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  changeMemberRole,
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
  revokeInvitation,
  type Member,
} from '../../../contracts/members.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { attempt, backField, form, returnPath, statusOf, dangerForm } from '../../forms.ts'
import { formOf, refuse } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { redirectWithMessage, setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { day, dialog, person, ROLE_LABELS, roleBadge, roleOptions, listCard } from '../../components.ts'
import { pager } from '../../pager.ts'
import { button, card } from '../../../pages/parts.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { ACCESS_PATH } from '../access/access.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import {
  INVITE,
  invitationLinkNotice,
  invitationTable,
  inviteButton,
  inviteCard,
  isInviteOpen,
  mayInvite,
  type Invited,
} from './invitations.ts'

const MEMBERS = listOf(listMembers, {
  search: { label: 'Name or email' },
  role: { id: 'filter-role', label: 'Role', all: 'All roles', labels: ROLE_LABELS },
})
const ROLE = formOf(changeMemberRole, ['role'])

type MemberRow = z.output<typeof Member>

export const memberRoutes = () =>
  createRoutes()
    .get('/members', (c) => showMembers(c))
    .post('/members/invitations', invite)
    .post('/members/invitations/:invitation_id/revoke', revoke)
    .post('/members/leave', leave)
    .post('/members/:user_id/role', setRole)
    .post('/members/:user_id/role/preview', previewRole)
    .post('/members/:user_id/remove', remove)

async function showMembers(c: PageContext, invited?: Invited) {
  const session = sessionOf(c)
  const organization = organizationOf(c)
  const refused = invited && 'problem' in invited ? invited : undefined
  const query = c.req.method === 'GET' ? c.req.query() : {}
  const [members, invitations] = await Promise.all([
    MEMBERS.call(c, { org_id: organization.id }),
    mayInvite(organization)
      ? session.call(listInvitations, { org_id: organization.id, cursor: query['invitations'] })
      : undefined,
  ])
  return page(c, {
    title: 'Members',
    lead: `People in ${organization.name} and their roles.`,
    status: statusOf(refused?.problem),
    actions: invitations && !isInviteOpen(c, refused) && inviteButton(c, organization),
    body: html`
      ${invited && 'url' in invited && invitationLinkNotice(invited.email, invited.url)}
      ${invitations && isInviteOpen(c, refused) && inviteCard(c, organization, refused)}
      ${listCard(c, {
        noun: 'members',
        ...MEMBERS.parts(c, members),
        caption: 'Members',
        columns: ['Member', 'Role', 'Joined', '(Actions)'],
        rows: members.members.map((member) => memberRow(c, member)),
      })}
      ${invitations && card('Invitations', html`${invitationTable(c, organization, invitations.invitations)}${pager(c, invitations.invitations.length, invitations, 'invitations')}`)}
    `,
  })
}

const JOINED_BY: Record<MemberRow['joined_by'], string> = {
  creation: 'created the organization',
  invitation: 'by invitation',
  domain: 'by email domain',
  operator: 'added by the operator',
  identity_provider: 'by your identity provider',
  scim: 'by your directory',
  machine: 'as a machine agent',
}

function memberRow(c: PageContext, member: MemberRow) {
  const isMe = member.user_id === sessionOf(c).me.user.id
  return [
    person(member.name, member.email, isMe && html`<span class="you">you</span>`),
    roleBadge(member.role),
    html`${day(member.joined_at)} <span class="note">${JOINED_BY[member.joined_by]}</span>`,
    html`<div class="row-actions">${memberActions(c, member, isMe)}</div>`,
  ]
}

function memberActions(c: PageContext, member: MemberRow, isMe: boolean) {
  const session = sessionOf(c)
  const organization = organizationOf(c)
  const mayManage = hasRole(session, 'admin') && atLeast(organization.role, member.role)
  if (!mayManage && !isMe) return null
  const path = `/console/members/${member.user_id}`
  return dialog(
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
            ${ROLE.show({ now: member }).field('role', {
              id: `role-${member.user_id}`,
              options: [
                ...(member.role === 'member'
                  ? [{ value: 'member', label: ROLE_LABELS.member.label, disabled: true }]
                  : []),
                ...roleOptions(organization.role),
              ],
            })}
            <div class="actions">${button('Save role')} <button type="submit" class="button button-quiet" formaction="${path}/role/preview">Show what changes</button></div>`,
          )
        }
        ${
          isMe
            ? dangerForm(c, '/console/members/leave', {
                title: 'Leave',
                text: `You lose access to ${organization.name} immediately, and your tokens stop working.`,
                submit: 'Leave organization',
              })
            : html`${dangerForm(c, `${path}/remove`, {
                title: 'Remove',
                text: `They, their tokens and their agents lose access to ${organization.name} immediately.`,
                submit: 'Remove from organization',
              })}
                ${session.support === undefined && endAccessLink('person', member.user_id)}`
        }
      `,
    },
    mayManage ? `Manage ${member.name}` : `Leave ${organization.name}`,
  )
}

async function invite(c: PageContext) {
  const input = { org_id: organizationOf(c).id, ...INVITE.read(c.get('form')) }
  const result = await attempt(() => sessionOf(c).call(inviteMember, input))
  if ('problem' in result) return showMembers(c, refuse(c, result.problem))
  const { invitation_url: url, email } = result.done
  // The link is a secret: it is part of this response and does not go through a redirect.
  if (url !== undefined) return showMembers(c, { email, url })
  return redirectWithMessage(c, '/console/members', `Invitation sent to ${email}.`)
}

const backToMembers = (c: PageContext): string => returnPath(c, '/console/members')

const revoke = act(revokeInvitation, { back: backToMembers, done: 'Invitation revoked.' })

/** To the page that says what they would lose with it. */
function previewRole(c: PageContext) {
  const { role } = ROLE.read(c.get('form'))
  const { user_id } = routeInput(c, changeMemberRole)
  return c.redirect(`${ACCESS_PATH}?${new URLSearchParams({ user_id, role }).toString()}`, 303)
}

const setRole = act(changeMemberRole, {
  input: ROLE.read,
  back: backToMembers,
  done: (_, { role }) => `Role changed to ${ROLE_LABELS[role]?.label}.`,
})

const remove = act(removeMember, { back: backToMembers, done: 'Member removed.' })

async function leave(c: PageContext) {
  const { id, name } = organizationOf(c)
  const session = sessionOf(c)
  const result = await attempt(() => session.call(removeMember, { org_id: id, user_id: session.me.user.id }))
  if ('problem' in result) setFlash(c, 'problem', result.problem.message)
  else setFlash(c, 'done', `You left ${name}.`)
  return c.redirect('problem' in result ? '/console/members' : '/console', 303)
}
