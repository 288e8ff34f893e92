/** Which data sources a connected agent can query: as a list, and as the form that limits them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { AskableSource } from '../../../contracts/data-sources.ts'
import type { Grant as GrantShape } from '../../../contracts/grants.ts'
import { button } from '../../../pages/parts.ts'
import { sourceBoxes, sourceChoice } from '../../../pages/source-choice.ts'
import { organizationOf, type PageContext } from '../../context.ts'
import { backField, form } from '../../forms.ts'
import { previewButton } from './agent-labels.ts'

type Grant = z.output<typeof GrantShape>
export type Askable = z.output<typeof AskableSource>

export const canQueryData = ({ scopes }: Grant): boolean => scopes.includes('data:read')

export const sourceList = ({ sources, user }: Grant) =>
  sources === null || sources.length === 0
    ? html`<p>${sources === null ? `All that ${user.name} can query, including future ones.` : 'None.'}</p>`
    : html`<ul class="plain">${sources.map(({ source_id, name }) => html`<li>${name} <code class="note">${source_id}</code></li>`)}</ul>`

/** Nothing where nothing can be removed: no access to data, no data sources, or only one left. */
export function sourcesForm(
  c: PageContext,
  action: string,
  grant: Grant,
  isMine: boolean,
  askable: readonly Askable[],
) {
  const choices = (grant.sources ?? askable).map((source) => {
    const id = 'source_id' in source ? source.source_id : source.id
    return { id, name: source.name, note: html`<code>${id}</code>` }
  })
  if (!canQueryData(grant) || choices.length < (grant.sources === null ? 1 : 2)) return null
  const legend = html`<span class="unseen">Data sources it can query in ${organizationOf(c).name}</span>`
  const fields = { which: 'which', source: 'sources' }
  return form(
    c,
    action,
    html`${backField(c)}${
      grant.sources === null
        ? sourceChoice({
            legend,
            fields,
            all: isMine
              ? 'All that you can query, including future ones'
              : `All that ${grant.user.name} can query, including future ones`,
            sources: choices,
            isLimited: false,
            isTicked: () => false,
          })
        : html`<fieldset><legend>${legend}</legend>${sourceBoxes(fields.source, choices, () => true)}</fieldset>`
    }
    <div class="actions">${button('Limit data sources', 'quiet')} ${previewButton(grant.id)}</div>`,
  )
}
