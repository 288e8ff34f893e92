/** Your own page: name, e-mail, password, ways to sign in, and where you are signed in. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../contracts/errors.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from '../../contracts/limits.ts'
import { changePassword, sendEmailVerification, showProfile, updateProfile } from '../../contracts/people.ts'
import { listSessions, signOut, signOutEverywhere } from '../../contracts/sessions.ts'
import { attempt, statusOf } from '../attempt.ts'
import { clearSession } from '../cookies.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { badge, day, personalForm, opens, pager, table, time } from '../parts.ts'
import { button, card, inputField, problemNotice } from '../../pages/parts.ts'
import { text, visitOf, type ConsoleEnv } from '../visit.ts'
import { deviceName } from './device-name.ts'

type C = Context<ConsoleEnv>
type Profile = z.output<typeof showProfile.output>
type Refused = { form: 'name' | 'password'; problem: ServiceError; name?: string }
const PATH = '/console/profile'

export const profilePages = () =>
  new Hono<ConsoleEnv>()
    .get('/profile', (c) => showMine(c))
    .post('/profile', rename)
    .post('/profile/verify', verify)
    .post('/profile/password', setPassword)
    .post('/profile/sessions/end-all', endAll)
    .post('/profile/sessions/:id/end', endOne)

async function showMine(c: C, refused?: Refused) {
  const { call } = visitOf(c)
  const cursor = c.req.method === 'GET' ? c.req.query('cursor') : undefined
  const [profile, { sessions, next_cursor }] = await Promise.all([
    call(showProfile, {}),
    call(listSessions, { cursor }),
  ])
  return page(c, {
    title: 'Profile',
    lead: html`With us since ${day(profile.created_at)}.`,
    status: statusOf(refused?.problem),
    body: html`
      ${nameCard(c, profile, refused?.form === 'name' ? refused : undefined)} ${emailCard(c, profile)}
      ${profile.has_password && passwordCard(c, refused?.form === 'password' ? refused.problem : undefined)}
      ${identitiesCard(profile)}
      ${card(
        'Where you are signed in',
        html`${sessionTable(c, sessions)} ${pager(c, next_cursor)}
          <div class="actions">${opens('end-all', 'Sign out everywhere', {
            title: 'Sign out everywhere?',
            content: personalForm(
              c,
              `${PATH}/sessions/end-all`,
              html`<p>Every browser and program you are signed in with is signed out, this one included. API tokens keep working.</p>
                ${button('Sign out everywhere', 'danger')}`,
              'stack',
            ),
          })}</div>`,
        'Something you do not know? Sign it out, then change your password.',
      )}
    `,
  })
}

const nameCard = (c: C, profile: Profile, refused: Refused | undefined) =>
  card(
    'Name',
    html`${problemNotice(refused?.problem, ['name'])}
    ${personalForm(
      c,
      PATH,
      html`${inputField({
        name: 'name',
        label: 'How others see you',
        value: refused?.name ?? profile.name,
        required: true,
        maxlength: 120,
        autocomplete: 'name',
        problem: refused?.problem,
      })}
      ${button('Save name')}`,
      'stack',
    )}`,
  )

const emailCard = (c: C, { email, email_verified, can_verify_email }: Profile) =>
  card(
    'E-mail address',
    html`<p class="switch-state"><span class="long">${email}</span> ${email_verified ? badge('Verified', 'on') : badge('Not verified', 'wait')}</p>
      ${
        !email_verified &&
        can_verify_email &&
        personalForm(
          c,
          `${PATH}/verify`,
          html`<p class="note">Open the link we send you, and we know the address is yours.</p>
          ${button('Send me a link', 'quiet')}`,
          'stack',
        )
      }`,
  )

const passwordCard = (c: C, problem: ServiceError | undefined) =>
  card(
    'Password',
    html`${problemNotice(problem, ['current_password', 'new_password'])}
    ${personalForm(
      c,
      `${PATH}/password`,
      html`${inputField({
        name: 'current_password',
        label: 'Current password',
        type: 'password',
        required: true,
        maxlength: 512,
        autocomplete: 'current-password',
        problem,
      })}
      ${inputField({
        name: 'new_password',
        label: 'New password',
        type: 'password',
        required: true,
        minlength: PASSWORD_MIN,
        maxlength: PASSWORD_MAX,
        autocomplete: 'new-password',
        hint: `At least ${PASSWORD_MIN} characters: a few words do.`,
        problem,
      })}
      ${button('Change password')}`,
      'stack',
    )}`,
    'Changing it signs you out everywhere else.',
  )

const identitiesCard = ({ identities, has_password }: Profile) =>
  card(
    'Ways to sign in',
    html`<ul class="plain">
      ${has_password && html`<li>${badge('Password', 'on')} <span class="note">e-mail and password</span></li>`}
      ${identities.map(({ provider, email }) => html`<li>${badge(provider.charAt(0).toUpperCase() + provider.slice(1), 'on')} <span class="note long">${email ?? 'without an e-mail address'}</span></li>`)}
    </ul>`,
  )

const sessionTable = (c: C, sessions: z.output<typeof listSessions.output>['sessions']) =>
  table(
    'Sessions',
    ['Device', 'Signed in', 'Last used', '(Actions)'],
    sessions.map((session) => [
      html`<div class="two-lines"><strong title="${session.device}">${deviceName(session.device)}</strong><span class="note">by ${session.signed_in_by}</span></div>`,
      time(session.created_at),
      time(session.last_used_at),
      html`<div class="row-actions">
        ${
          session.current
            ? badge('This one', 'on')
            : personalForm(
                c,
                `${PATH}/sessions/${session.id}/end`,
                html`<button type="submit" class="button button-quiet button-small" aria-label="Sign out ${deviceName(session.device)}">Sign out</button>`,
              )
        }
      </div>`,
    ]),
  )

async function rename(c: C) {
  const name = text(c.get('form'), 'name')
  const tried = await attempt(() => visitOf(c).call(updateProfile, { name }))
  if ('problem' in tried) return showMine(c, { form: 'name', problem: tried.problem, name })
  leaveFlash(c, 'done', `Others see you as ${tried.done.name} now.`)
  return c.redirect(PATH, 303)
}

const verify = (c: C) =>
  actAndReturn(c, PATH, 'The link is on its way. It works for an hour.', () =>
    visitOf(c).call(sendEmailVerification, {}),
  )

async function setPassword(c: C) {
  const fields = c.get('form')
  const tried = await attempt(() =>
    visitOf(c).call(changePassword, {
      current_password: text(fields, 'current_password'),
      new_password: text(fields, 'new_password'),
    }),
  )
  if ('problem' in tried) return showMine(c, { form: 'password', problem: tried.problem })
  leaveFlash(c, 'done', 'Your password is changed, and every other session is signed out.')
  return c.redirect(PATH, 303)
}

const endOne = (c: C) =>
  actAndReturn(c, PATH, 'That session is signed out.', () =>
    visitOf(c).call(signOut, { session_id: c.req.param('id') ?? '' }),
  )

async function endAll(c: C) {
  await visitOf(c).call(signOutEverywhere, {})
  clearSession(c)
  return c.redirect('/console/signed-out', 303)
}
