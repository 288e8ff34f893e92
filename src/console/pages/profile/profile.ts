/** Profile: name, email, password, sign-in methods, and sessions. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  changePassword,
  sendEmailVerification,
  showProfile,
  updateProfile,
} from '../../../contracts/people.ts'
import { listSessions, signOut, signOutEverywhere } from '../../../contracts/sessions.ts'
import { clearSessionToken } from '../../cookies.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { personalForm, statusOf, text, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'
import { badge, day, dialog, table, time } from '../../components.ts'
import { pager } from '../../pager.ts'
import { button, card, problemNotice } from '../../../pages/parts.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { deviceName } from './device-name.ts'

type Profile = z.output<typeof showProfile.output>
const PATH = '/console/profile'

const RENAME = formOf(updateProfile, ['name'], { name: { autocomplete: 'name' } })
const VERIFY = formOf(sendEmailVerification, ['email'], {
  email: { required: true, autocomplete: 'email' },
})
const CHANGE_PASSWORD = formOf(changePassword, ['current_password', 'new_password', 'end_api_tokens'], {
  current_password: { autocomplete: 'current-password' },
  new_password: { autocomplete: 'new-password' },
})

export const profileRoutes = () =>
  createRoutes()
    .get('/profile', (c) => showMine(c))
    .post('/profile', rename)
    .post('/profile/verify', verify)
    .post('/profile/password', setPassword)
    .post('/profile/sessions/end-all', endAll)
    .post('/profile/sessions/:session_id/end', endOne)

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
      ${formCard(c, { of: RENAME.show({ now: profile, refused }), title: 'Name', action: PATH, submit: 'Save name', isPersonal: true })}
      ${emailCard(c, profile, refused)} ${profile.has_password && passwordCard(c, refused)}
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

function emailCard(c: PageContext, profile: Profile, refused: Refused | undefined) {
  const { email, email_verified, receives_mail, can_verify_email } = profile
  const form = VERIFY.show({ now: { email: receives_mail ? email : '' }, refused })
  return card(
    'Email address',
    html`<p class="switch-state"><span class="long">${email}</span> ${email_verified ? badge('Verified', 'on') : badge('Not verified', 'wait')}</p>
      ${
        !email_verified &&
        can_verify_email &&
        html`${problemNotice(form.problem, form.shown)} ${personalForm(
          c,
          `${PATH}/verify`,
          html`<p class="note">${
            receives_mail
              ? 'We send you a link to confirm that the address is yours. You can correct it here.'
              : 'No mail can reach this address. Add one at which you read mail: you then sign in with it.'
          }</p>
          ${form.all()} ${button('Send verification link', 'quiet')}`,
        )}`
      }`,
  )
}

const passwordCard = (c: PageContext, refused: Refused | undefined) =>
  formCard(c, {
    of: CHANGE_PASSWORD.show({ refused }),
    title: 'Password',
    lead: 'Changing it signs you out of all other sessions.',
    action: `${PATH}/password`,
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

type Session = z.output<typeof listSessions.output>['sessions'][number]

/** The client says its name and that of its computer; a browser has to be read out of what it sends. */
const nameOf = ({ kind, device }: Session): string => (kind === 'cli' ? device : deviceName(device))

const sessionTable = (c: PageContext, sessions: readonly Session[]) =>
  table(
    'Sessions',
    ['Device', 'Signed in', 'Last used', '(Actions)'],
    sessions.map((session) => [
      html`<div class="two-lines"><strong title="${session.device}">${nameOf(session)}</strong><span class="note">by ${session.signed_in_by}</span></div>`,
      time(session.created_at),
      time(session.last_used_at),
      html`<div class="row-actions">
        ${
          session.current
            ? badge('This session', 'on')
            : personalForm(
                c,
                `${PATH}/sessions/${session.id}/end`,
                html`<button type="submit" class="button button-quiet button-small" aria-label="Sign out ${nameOf(session)}">Sign out</button>`,
                '',
              )
        }
      </div>`,
    ]),
  )

const rename = submit(RENAME, { again: showMine, done: ({ name }) => [PATH, `Name changed to ${name}.`] })

const verify = submit(VERIFY, {
  again: showMine,
  done: (_, c) => [
    PATH,
    `Verification link sent to ${text(c.get('form'), 'email')}. It expires in one hour.`,
  ],
})

const setPassword = submit(CHANGE_PASSWORD, {
  again: showMine,
  done: (_, c) => {
    const revoked = CHANGE_PASSWORD.read(c.get('form')).end_api_tokens ? ' Your API tokens were revoked.' : ''
    return [PATH, `Password changed. All other sessions were signed out.${revoked}`]
  },
})

const endOne = act(signOut, { back: PATH, done: 'Session signed out.' })

async function endAll(c: PageContext) {
  await sessionOf(c).call(signOutEverywhere, {})
  clearSessionToken(c)
  return c.redirect('/console/signed-out', 303)
}
