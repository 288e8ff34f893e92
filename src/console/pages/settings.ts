/** Settings of the organization itself: its name, and whether admins invite. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type { ServiceError } from '../../contracts/errors.ts'
import { updateOrganization } from '../../contracts/organizations.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { day, form } from '../parts.ts'
import { button, card, choice, inputField, problemNotice, type Content } from '../../pages/parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>
const PATH = '/console/settings/organization'

export const settingsPages = () =>
  new Hono<ConsoleEnv>()
    .get('/settings', (c) => c.redirect(PATH))
    .get('/settings/organization', (c) => showSettings(c))
    .post('/settings/organization', rename)
    .post('/settings/organization/invitations', setWhoInvites)

function showSettings(c: C, typed?: string, problem?: ServiceError) {
  const organization = organizationOf(c)
  const visit = visitOf(c)
  return page(c, {
    title: 'Organization',
    lead: hasRole(visit, 'admin') ? undefined : 'Owners and admins can change these settings.',
    status: statusOf(problem),
    body: html`
      ${
        hasRole(visit, 'admin') &&
        card(
          'Name',
          html`${problemNotice(problem, ['name'])}
        ${form(
          c,
          PATH,
          html`${inputField({ name: 'name', label: 'Name', value: typed ?? organization.name, required: true, maxlength: 120, problem })}
          ${button('Save name')}`,
          'stack',
        )}`,
        )
      }
      ${whoInvites(c)}
      ${card(
        'About',
        html`<dl class="pairs">
          ${pair('Name', organization.name)} ${pair('Short name', html`<code>${organization.slug}</code>`)}
          ${pair('Id', html`<code>${organization.id}</code>`)}
          ${pair('E-mail domains', organization.domains.length > 0 ? organization.domains.join(', ') : 'None. The operator of this service sets them.')}
          ${pair('Created', day(organization.created_at))}
        </dl>`,
      )}
    `,
  })
}

const pair = (label: string, value: Content) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`

function whoInvites(c: C) {
  const { admins_may_invite: isOn } = organizationOf(c)
  if (!hasRole(visitOf(c), 'owner')) {
    return card(
      'Invitations',
      html`<p>${isOn ? 'Owners and admins invite people.' : 'Owners invite people.'}</p>`,
    )
  }
  return card(
    'Invitations',
    form(
      c,
      `${PATH}/invitations`,
      html`<fieldset>
          <legend>Who may invite people</legend>
          ${choice('radio', 'who', 'owners', !isOn, 'Owners')}
          ${choice('radio', 'who', 'admins', isOn, 'Owners and admins', 'Admins invite up to admin, never an owner.')}
        </fieldset>
        ${button('Save')}`,
      'stack',
    ),
  )
}

async function rename(c: C) {
  const name = text(c.get('form'), 'name')
  const tried = await attempt(() =>
    visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, name }),
  )
  if ('problem' in tried) return showSettings(c, name, tried.problem)
  leaveFlash(c, 'done', `The organization is now called ${tried.done.name}.`)
  return c.redirect(PATH, 303)
}

async function setWhoInvites(c: C) {
  const admins_may_invite = text(c.get('form'), 'who') === 'admins'
  await visitOf(c).call(updateOrganization, { org_id: organizationOf(c).id, admins_may_invite })
  leaveFlash(
    c,
    'done',
    admins_may_invite ? 'Owners and admins may invite now.' : 'Only owners may invite now.',
  )
  return c.redirect(PATH, 303)
}
