/** Profile: name, email, password, sign-in methods, and sessions. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ServiceError } from '../../../contracts/errors.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from '../../../contracts/limits.ts'
import {
  changePassword,
  sendEmailVerification,
  showProfile,
  updateProfile,
} from '../../../contracts/people.ts'
import { listSessions, signOut, signOutEverywhere } from '../../../contracts/sessions.ts'
import { clearSessionToken } from '../../cookies.ts'
import { attempt, personalForm, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage, actAndReturn } from '../../flash.ts'
import { page } from '../../layout.ts'
import { badge, day, dialog, table, time } from '../../components.ts'
import { pager } from '../../pager.ts'
import { button, card, choice, inputField, problemNotice } from '../../../pages/parts.ts'
import { createRoutes, idOf, sessionOf, type PageContext } from '../../context.ts'
import { deviceName } from './device-name.ts'

type Profile = z.output<typeof showProfile.output>
type Refused = { form: 'name' | 'email' | 'password'; problem: ServiceError; name?: string; email?: string }
const PATH = '/console/profile'

export const profileRoutes = () =>
  createRoutes()
    .get('/profile', (c) => showMine(c))
    .post('/profile', rename)
    .post('/profile/verify', verify)
    .post('/profile/password', setPassword)
    .post('/profile/sessions/end-all', endAll)
    .post('/profile/sessions/:id/end', endOne)

async function showMine(c: PageContext, refused?: Refused) {
  const { call } = sessionOf(c)
  const cursor = c.req.method === 'GET' ? c.req.query('cursor') : undefined
  const [profile, { sessions, next_cursor }] = await Promise.all([
    call(showProfile, {}),
    call(listSessions, { cursor }),
  ])
  return page(c, {
    title: 'Profile',
    lead: html`Account created ${day(profile.created_at)}.`,
    status: statusOf(refused?.problem),
    body: html`
      ${nameCard(c, profile, refused?.form === 'name' ? refused : undefined)} ${emailCard(c, profile, refused?.form === 'email' ? refused : undefined)}
      ${profile.has_password && passwordCard(c, refused?.form === 'password' ? refused.problem : undefined)}
      ${identitiesCard(profile)}
      ${card(
        'Sessions',
        html`${sessionTable(c, sessions)} ${pager(c, sessions.length, { next_cursor })}
          <div class="actions">${dialog('end-all', 'Sign out everywhere', {
            title: 'Sign out everywhere?',
            content: personalForm(
              c,
              `${PATH}/sessions/end-all`,
              html`<p>Signs you out of every browser and program, including this one. API tokens keep working.</p>
                ${button('Sign out everywhere', 'danger')}`,
            ),
          })}</div>`,
        html`If you do not recognize a session, sign it out and change your password. If somebody else had access, <a href="/console/end-access">end everything made since then</a>.`,
      )}
    `,
  })
}

const nameCard = (c: PageContext, profile: Profile, refused: Refused | undefined) =>
  formCard(c, {
    title: 'Name',
    action: PATH,
    problem: refused?.problem,
    shown: ['name'],
    fields: inputField({
      name: 'name',
      label: 'Display name',
      value: refused?.name ?? profile.name,
      required: true,
      maxlength: 120,
      autocomplete: 'name',
      problem: refused?.problem,
    }),
    submit: 'Save name',
    isPersonal: true,
  })

function emailCard(c: PageContext, profile: Profile, refused: Refused | undefined) {
  const { email, email_verified, receives_mail, can_verify_email } = profile
  return card(
    'Email address',
    html`<p class="switch-state"><span class="long">${email}</span> ${email_verified ? badge('Verified', 'on') : badge('Not verified', 'wait')}</p>
      ${
        !email_verified &&
        can_verify_email &&
        html`${problemNotice(refused?.problem, ['email'])} ${personalForm(
          c,
          `${PATH}/verify`,
          html`<p class="note">${
            receives_mail
              ? 'We send you a link to confirm that the address is yours. You can correct it here.'
              : 'No mail can reach this address. Add one at which you read mail: you then sign in with it.'
          }</p>
          ${inputField({
            name: 'email',
            label: 'Send a link to',
            type: 'email',
            value: refused?.email ?? (receives_mail ? email : ''),
            required: true,
            maxlength: 254,
            autocomplete: 'email',
            problem: refused?.problem,
          })}
          ${button('Send verification link', 'quiet')}`,
        )}`
      }`,
  )
}

const passwordCard = (c: PageContext, problem: ServiceError | undefined) =>
  formCard(c, {
    title: 'Password',
    lead: 'Changing it signs you out of all other sessions.',
    action: `${PATH}/password`,
    problem,
    shown: ['current_password', 'new_password'],
    fields: html`${inputField({
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
      hint: `At least ${PASSWORD_MIN} characters. A few random words work well.`,
      problem,
    })}
    ${choice('checkbox', 'end_api_tokens', 'yes', false, 'Also revoke my API tokens', 'In all organizations. Choose this if somebody else may have used your account.')}`,
    submit: 'Change password',
    isPersonal: true,
  })

const identitiesCard = ({ identities, has_password }: Profile) =>
  card(
    'Sign-in methods',
    html`<ul class="plain">
      ${has_password && html`<li>${badge('Password', 'on')} <span class="note">email and password</span></li>`}
      ${identities.map(({ provider, email }) => html`<li>${badge(provider.charAt(0).toUpperCase() + provider.slice(1), 'on')} <span class="note long">${email ?? 'no email address'}</span></li>`)}
    </ul>`,
  )

const sessionTable = (c: PageContext, sessions: z.output<typeof listSessions.output>['sessions']) =>
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
            ? badge('This session', 'on')
            : personalForm(
                c,
                `${PATH}/sessions/${session.id}/end`,
                html`<button type="submit" class="button button-quiet button-small" aria-label="Sign out ${deviceName(session.device)}">Sign out</button>`,
                '',
              )
        }
      </div>`,
    ]),
  )

async function rename(c: PageContext) {
  const name = text(c.get('form'), 'name')
  const result = await attempt(() => sessionOf(c).call(updateProfile, { name }))
  if ('problem' in result) return showMine(c, { form: 'name', problem: result.problem, name })
  return redirectWithMessage(c, PATH, `Name changed to ${result.done.name}.`)
}

async function verify(c: PageContext) {
  const email = text(c.get('form'), 'email')
  const result = await attempt(() => sessionOf(c).call(sendEmailVerification, { email }))
  if ('problem' in result) return showMine(c, { form: 'email', problem: result.problem, email })
  return redirectWithMessage(c, PATH, `Verification link sent to ${email}. It expires in one hour.`)
}

async function setPassword(c: PageContext) {
  const fields = c.get('form')
  const end_api_tokens = text(fields, 'end_api_tokens') === 'yes'
  const result = await attempt(() =>
    sessionOf(c).call(changePassword, {
      current_password: text(fields, 'current_password'),
      new_password: text(fields, 'new_password'),
      end_api_tokens,
    }),
  )
  if ('problem' in result) return showMine(c, { form: 'password', problem: result.problem })
  const revoked = end_api_tokens ? ' Your API tokens were revoked.' : ''
  return redirectWithMessage(c, PATH, `Password changed. All other sessions were signed out.${revoked}`)
}

const endOne = (c: PageContext) =>
  actAndReturn(c, PATH, 'Session signed out.', () => sessionOf(c).call(signOut, { session_id: idOf(c) }))

async function endAll(c: PageContext) {
  await sessionOf(c).call(signOutEverywhere, {})
  clearSessionToken(c)
  return c.redirect('/console/signed-out', 303)
}
