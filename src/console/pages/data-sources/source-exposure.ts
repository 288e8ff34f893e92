/** Who can query a data source: on or off, exposed or hidden, and the minimum role. */
import { html } from 'hono/html'
import { setDataSourceState, setDataSourceExposure } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../../contracts/limits.ts'
import { GrantableRole } from '../../../contracts/roles.ts'
import { button, card, notice } from '../../../pages/parts.ts'
import { form, text, confirmDialog } from '../../forms.ts'
import { act } from '../../act.ts'
import { formOf } from '../../fields.ts'
import { actAndReturn } from '../../flash.ts'
import { roleOptions } from '../../components.ts'
import { hasRole, sessionOf, type PageContext } from '../../context.ts'
import { pathOf, roleAndAbove, sourceIdFrom, stateBadge, type Source } from './source-labels.ts'
import { tabPath } from './source-tabs.ts'

const EXPOSURE = formOf(setDataSourceExposure, ['minimum_role'], {
  minimum_role: { options: roleOptions('owner') },
})

export const exposureCard = (c: PageContext, source: Source) =>
  card(
    'Access',
    html`<p class="switch-state">${stateBadge(source)} ${stateSentence(source)}</p>
      ${notice('info', html`<p>The minimum role does not protect the database itself: members who already reach the database through database tools or the connect command still can.</p>`)}
      ${hasRole(sessionOf(c), 'admin') ? source.ready && controls(c, source) : html`<p class="note">Owners and admins can change this.</p>`}`,
  )

function stateSentence({ ready, enabled, exposed, minimum_role }: Source): string {
  if (!ready) return 'The database is being created. Reload in a moment.'
  if (!enabled) return 'It cannot be queried until it is turned on.'
  return exposed
    ? `Available to ${roleAndAbove(minimum_role)}, in the console and through their assistants.`
    : 'It cannot be queried until it is exposed.'
}

function controls(c: PageContext, source: Source) {
  const path = pathOf(source.source_id)
  if (!source.enabled) {
    return form(
      c,
      `${path}/state`,
      html`<input type="hidden" name="state" value="on" />${button('Turn on')}`,
      '',
    )
  }
  return html`${form(
    c,
    `${path}/exposure`,
    html`<input type="hidden" name="exposed" value="yes" />
        ${EXPOSURE.show({ now: source }).all()} ${button(source.exposed ? 'Save' : 'Expose')}`,
    'inline',
  )}
    <div class="actions">
      ${
        source.exposed &&
        confirmDialog(c, {
          label: 'Hide',
          title: `Hide ${source.name}?`,
          action: `${path}/exposure`,
          text: 'It can no longer be queried and responds as if it did not exist. You can expose it again at any time.',
          fields: html`<input type="hidden" name="exposed" value="no" />`,
          kind: 'main',
        })
      }
      ${confirmDialog(c, {
        label: 'Turn off',
        title: `Turn off ${source.name}?`,
        action: `${path}/state`,
        text: 'It can no longer be queried. After turning it on again, you need to expose it again.',
        fields: html`<input type="hidden" name="state" value="off" />`,
      })}
    </div>`
}

export const setSourceState = act(setDataSourceState, {
  input: (sent) => ({ enabled: text(sent, 'state') === 'on' }),
  back: (c) => tabPath(sourceIdFrom(c), 'access'),
  done: (_, { enabled }) =>
    enabled
      ? 'Turned on. Expose it so that people can query it.'
      : 'Turned off. It can no longer be queried.',
})

export function setSourceExposure(c: PageContext) {
  const fields = c.get('form')
  const source_id = sourceIdFrom(c)
  const exposed = text(fields, 'exposed') === 'yes'
  const minimum_role = exposed ? GrantableRole.safeParse(text(fields, 'minimum_role')).data : undefined
  return actAndReturn(
    c,
    tabPath(source_id, 'access'),
    exposed
      ? `Exposed${minimum_role ? ` to ${roleAndAbove(minimum_role)}` : ''}.`
      : 'Hidden. It can no longer be queried.',
    async () => {
      // Left out of the call, an unknown role would keep the present one.
      if (exposed && minimum_role === undefined)
        throw new ServiceError('INVALID_REQUEST', 'Choose a minimum role')
      await sessionOf(c).call(setDataSourceExposure, { source_id, exposed, minimum_role }).catch(withHint)
    },
  )
}

function withHint(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error
  if (error.code === 'EXPOSURE_LIMIT')
    throw new ServiceError(error.code, `The limit of ${EXPOSED_MAX} exposed data sources is reached`, {
      hint: 'Hide or turn off one you no longer need, then expose this one.',
    })
  if (error.code === 'CONFLICT')
    throw new ServiceError(error.code, error.message, {
      hint: error.hint ?? 'Check its current status below, then try again.',
    })
  throw error
}
