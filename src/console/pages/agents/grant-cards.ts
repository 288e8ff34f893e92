/** What a grant allows, on the page of an agent and of a machine agent: its permissions and data sources, and less of them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { GrantVia, showGrant } from '../../../contracts/grants.ts'
import { SCOPES, SCOPES_OF_A_MACHINE, SCOPES_OF_OTHERS, type Scope } from '../../../contracts/scopes.ts'
import { button, card, choice } from '../../../pages/parts.ts'
import { backField, form } from '../../forms.ts'
import { organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { agentPath } from './agent-labels.ts'
import { canQueryData, sourceList, sourcesForm, type Askable } from './grant-sources.ts'

type Grant = z.output<typeof showGrant.output>

/** How it comes to more again. */
const REGAINED: Record<GrantVia, string> = {
  consent: 'To add permissions, connect it again.',
  enterprise: 'When it connects again, it gets what your rules give.',
  machine: 'To add permissions, create another machine agent.',
}

/** With one thing left there is nothing to narrow, only to disconnect. */
export function permissionsCard(c: PageContext, grant: Grant) {
  const { id, scopes, ended, via } = grant
  const words = wordsFor(c, grant)
  return card(
    'Permissions',
    ended !== null || scopes.length < 2
      ? html`<ul class="plain">${scopes.map((scope) => html`<li>${words[scope]} <code class="note">${scope}</code></li>`)}</ul>`
      : form(
          c,
          `${agentPath(id)}/narrow`,
          html`${backField(c)}<fieldset>
              <legend class="unseen">Permissions in ${organizationOf(c).name}</legend>
              ${scopes.map((scope) => choice('checkbox', 'scopes', scope, true, words[scope], html`<code>${scope}</code>`))}
            </fieldset>
            <p class="note">Takes effect on its next call. ${REGAINED[via]}</p>
            ${button('Save permissions', 'quiet')}`,
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
