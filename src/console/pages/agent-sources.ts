/** Which data sources a connected agent may ask: said on its line, and taken away in its window. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import type { AskableSource } from '../../contracts/data-sources.ts'
import type { Grant as GrantShape } from '../../contracts/grants.ts'
import { button } from '../../pages/parts.ts'
import { sourceBoxes, sourceChoice } from '../../pages/source-choice.ts'
import { backField, form } from '../parts.ts'
import { organizationOf, type ConsoleEnv } from '../visit.ts'

type Grant = z.output<typeof GrantShape>
export type Askable = z.output<typeof AskableSource>

export const asksData = ({ scopes }: Grant): boolean => scopes.includes('data:read')

/** The rest is in its window. */
const NAMED_MAX = 4

export function sourceWords({ sources }: Grant): string {
  if (sources === null) return 'all of them, also later ones'
  if (sources.length === 0) return 'none of them'
  const named = sources.slice(0, NAMED_MAX).map(({ name }) => name)
  const more = sources.length - named.length
  return `only ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Nothing where nothing could be taken away: no data to ask, none there, or one left. */
export function sourcesForm(
  c: Context<ConsoleEnv>,
  action: string,
  grant: Grant,
  isMine: boolean,
  askable: readonly Askable[],
) {
  const choices = (grant.sources ?? askable).map((source) => {
    const id = 'source_id' in source ? source.source_id : source.id
    return { id, name: source.name, note: html`<code>${id}</code>` }
  })
  if (!asksData(grant) || choices.length < (grant.sources === null ? 1 : 2)) return null
  const legend = `Which data sources of ${organizationOf(c).name} it may ask`
  const fields = { which: 'which', source: 'sources' }
  return form(
    c,
    action,
    html`${backField(c)}
    ${
      grant.sources === null
        ? sourceChoice({
            legend,
            fields,
            all: isMine
              ? 'All that you may ask, also later ones'
              : `All that ${grant.user.name} may ask, also later ones`,
            sources: choices,
            isLimited: false,
            isTicked: () => false,
          })
        : html`<fieldset><legend>${legend}</legend>${sourceBoxes(fields.source, choices, () => true)}</fieldset>`
    }
    ${button('Limit the data sources', 'quiet')}`,
    'stack',
  )
}
