/** What a grant allows, on the page of an agent and of a machine agent: its permissions and data sources, and less of them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { GrantVia, showGrant } from '../../../contracts/grants.ts'
import { UNUSED_DAYS } from '../../../contracts/limits.ts'
import { SCOPES, SCOPES_OF_A_MACHINE, SCOPES_OF_OTHERS, type Scope } from '../../../contracts/scopes.ts'
import { button, card, choice, notice } from '../../../pages/parts.ts'
import { day, exactTime, time } from '../../components.ts'
import { plural } from '../../format.ts'
import { backField, form } from '../../forms.ts'
import { organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { agentPath, previewButton } from './agent-labels.ts'
import { canQueryData, sourceList, sourcesForm, type Askable } from './grant-sources.ts'

type Grant = z.output<typeof showGrant.output>

/** How it comes to more again. */
const REGAINED: Record<GrantVia, string> = {
  consent: 'To add permissions, connect it again.',
  enterprise: 'When it connects again, it gets what your rules give.',
  machine: 'To add permissions, create another machine agent.',
}

/** What it does not use: one click takes it away. Nothing while it uses everything, or nothing, or is counted for too short. */
export function unusedNotice(c: PageContext, grant: Grant) {
  const { unused, narrows_on, ends_on } = grant.use
  if (grant.ended !== null) return null
  const words = wordsFor(c, grant)
  return html`${ends_on !== null && notice('info', html`<p><strong>It will be disconnected.</strong> Nobody has used it for a while. It stays if it is used before ${exactTime(ends_on)}.</p>`)}
  ${
    unused &&
    notice(
      'info',
      html`<p><strong>Some of it has not been used for ${UNUSED_DAYS} days.</strong> ${narrows_on !== null && html`It is taken away by itself after ${exactTime(narrows_on)}, unless it is used.`}</p>
        <ul class="plain">
          ${unused.scopes.map((scope) => html`<li>${words[scope]}</li>`)}
          ${unused.sources.length > 0 && html`<li>${plural(unused.sources.length, 'data source')}: ${listed(unused.sources.map(({ name }) => name))}</li>`}
          ${unused.scopes.length === 0 && unused.sources.length === 0 && html`<li>Data sources that it may be given later</li>`}
        </ul>
        ${narrowToUsedForm(c, grant)}`,
    )
  }`
}

const narrowToUsedForm = (c: PageContext, { id }: Grant) =>
  form(
    c,
    `${agentPath(id)}/narrow-to-used`,
    html`${backField(c)}${button('Narrow to what it used', 'quiet')}`,
    '',
  )

const NAMES_SHOWN = 5

const listed = (names: readonly string[]): string =>
  names.length > NAMES_SHOWN
    ? `${names.slice(0, NAMES_SHOWN).join(', ')} and ${names.length - NAMES_SHOWN} more`
    : names.join(', ')

/** When it was used last, since that is counted. */
const useNote = (use: { calls: number; last_used_at: string | null } | undefined, { since }: Grant['use']) =>
  use && use.last_used_at !== null
    ? html`${plural(use.calls, 'call')}, last ${time(use.last_used_at)}`
    : html`no call since ${day(since)}`

/** With one thing left there is nothing to narrow, only to disconnect. */
export function permissionsCard(c: PageContext, grant: Grant) {
  const { id, scopes, ended, via, use } = grant
  const words = wordsFor(c, grant)
  const noteOf = (scope: Scope) =>
    html`<code>${scope}</code> · ${useNote(
      use.scopes.find((one) => one.scope === scope),
      use,
    )}`
  return card(
    'Permissions',
    ended !== null || scopes.length < 2
      ? html`<ul class="plain">${scopes.map((scope) => html`<li>${words[scope]} <span class="note">${noteOf(scope)}</span></li>`)}</ul>`
      : form(
          c,
          `${agentPath(id)}/narrow`,
          html`${backField(c)}<fieldset>
              <legend class="unseen">Permissions in ${organizationOf(c).name}</legend>
              ${scopes.map((scope) => choice('checkbox', 'scopes', scope, true, words[scope], noteOf(scope)))}
            </fieldset>
            <p class="note">Takes effect on its next call. ${REGAINED[via]}</p>
            <div class="actions">${button('Save permissions', 'quiet')} ${previewButton(id)}</div>`,
        ),
  )
}

function wordsFor(c: PageContext, { via, user }: Grant): Record<Scope, string> {
  if (via === 'machine') return SCOPES_OF_A_MACHINE
  return user.id === sessionOf(c).me.user.id ? SCOPES : SCOPES_OF_OTHERS
}

export function sourcesCard(c: PageContext, grant: Grant, isMine: boolean, askable: readonly Askable[]) {
  if (!canQueryData(grant)) return null
  const limit =
    grant.ended === null && sourcesForm(c, `${agentPath(grant.id)}/sources`, grant, isMine, askable)
  return card('Data sources', limit || sourceList(grant))
}
