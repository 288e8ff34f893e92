/** Who may ask a source: switched on or off, exposed from which role on. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import { setDataSourceState, setExposure } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../contracts/limits.ts'
import { GRANTABLE_ROLES, GrantableRole } from '../../contracts/roles.ts'
import { button, card, notice, selectField } from '../../pages/parts.ts'
import { actAndReturn } from '../flash.ts'
import { form, opens, ROLE_WORDS } from '../parts.ts'
import { hasRole, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { pathOf, roleAndAbove, sourceIdFrom, stateBadge, type Source } from './source-words.ts'

type C = Context<ConsoleEnv>

export const exposureCard = (c: C, source: Source) =>
  card(
    'Who may ask',
    html`<p class="switch-state">${stateBadge(source)} ${stateSentence(source)}</p>
      ${notice('info', html`<p>The minimum role does not protect the database itself: members who already reach the database through database tools or the connect command still can.</p>`)}
      ${hasRole(visitOf(c), 'admin') ? source.ready && controls(c, source) : html`<p class="note">Owners and admins can change this.</p>`}`,
  )

function stateSentence({ ready, enabled, exposed, minimum_role }: Source): string {
  if (!ready) return 'Its database is being made; reload in a moment.'
  if (!enabled) return 'It is a database, not a data source: nobody can ask it.'
  return exposed
    ? `Listed for ${roleAndAbove(minimum_role)}, in this console and to their assistants.`
    : 'Nobody can ask it until it is exposed.'
}

function controls(c: C, source: Source) {
  const path = pathOf(source.source_id)
  if (!source.enabled) {
    return form(
      c,
      `${path}/state`,
      html`<input type="hidden" name="state" value="on" />${button('Switch on')}`,
    )
  }
  return html`${form(
    c,
    `${path}/exposure`,
    html`<input type="hidden" name="exposed" value="yes" />
        ${selectField({
          name: 'minimum_role',
          label: 'Minimum role',
          value: source.minimum_role,
          options: GRANTABLE_ROLES.map((value) => ({ value, label: ROLE_WORDS[value].label })),
        })}
        ${button(source.exposed ? 'Save' : 'Expose')}`,
    'inline',
  )}
    <div class="actions">
      ${
        source.exposed &&
        opens('hide-source', 'Hide', {
          title: `Hide ${source.name}?`,
          content: form(
            c,
            `${path}/exposure`,
            html`<p>From now on it answers like a source that does not exist. You can expose it again at any time.</p>
            <input type="hidden" name="exposed" value="no" />
            ${button('Hide it')}`,
            'stack',
          ),
        })
      }
      ${opens('switch-source-off', 'Switch off', {
        title: `Switch ${source.name} off?`,
        content: form(
          c,
          `${path}/state`,
          html`<p>Nobody can ask it any more. Switched on again, it is not exposed until you expose it.</p>
            <input type="hidden" name="state" value="off" />
            ${button('Switch it off', 'danger')}`,
          'stack',
        ),
      })}
    </div>`
}

export function switchSource(c: C) {
  const enabled = text(c.get('form'), 'state') === 'on'
  const source_id = sourceIdFrom(c)
  return actAndReturn(
    c,
    pathOf(source_id),
    enabled ? 'Switched on. Expose it to let people ask.' : 'Switched off. Nobody can ask it now.',
    () => visitOf(c).call(setDataSourceState, { source_id, enabled }),
  )
}

export function exposeSource(c: C) {
  const fields = c.get('form')
  const source_id = sourceIdFrom(c)
  const exposed = text(fields, 'exposed') === 'yes'
  const minimum_role = exposed ? GrantableRole.safeParse(text(fields, 'minimum_role')).data : undefined
  return actAndReturn(
    c,
    pathOf(source_id),
    exposed
      ? `Exposed${minimum_role ? ` to ${roleAndAbove(minimum_role)}` : ''}.`
      : 'Hidden. Nobody can ask it now.',
    async () => {
      // Left to the gateway, a role it does not know would mean "as before".
      if (exposed && minimum_role === undefined)
        throw new ServiceError('INVALID_REQUEST', 'Choose a minimum role')
      await visitOf(c).call(setExposure, { source_id, exposed, minimum_role }).catch(sayKindly)
    },
  )
}

function sayKindly(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error
  switch (error.code) {
    case 'EXPOSURE_LIMIT':
      throw new ServiceError(
        error.code,
        `${EXPOSED_MAX} data sources are exposed already, and there is no room for more`,
        {
          hint: 'Hide or switch off one that is no longer asked, then expose this one.',
        },
      )
    case 'CONFLICT':
      throw new ServiceError(error.code, error.message, {
        hint: error.hint ?? 'Look at its present state below, then try again.',
      })
    default:
      throw error
  }
}
