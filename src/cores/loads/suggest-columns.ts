/** Which column is probably the id, which the title, and which are texts worth embedding. */
const ID_NAMES = ['id', 'key', 'sku', 'code', 'uuid', 'slug', 'number', 'nr']
const TITLE_NAMES = ['title', 'name', 'subject', 'headline', 'question', 'label']

type Suggestion = { id_column: string | null; title_column: string | null; embed_columns: string[] }

export function suggestColumns(names: readonly string[], rows: readonly (readonly string[])[]): Suggestion {
  const columns = names.map((name, at) => ({ name, values: rows.map((cells) => cells[at] ?? '') }))
  const id = columns.find(({ name, values }) => isIdName(name) && areUnique(values))
  const others = columns.filter((column) => column !== id)
  const title = others.find(({ name }) => TITLE_NAMES.includes(name)) ?? others.find(isText)
  const texts = others.filter((column) => isText(column) && (column === title || isProse(column)))
  return {
    id_column: id?.name ?? null,
    title_column: title?.name ?? null,
    embed_columns: (texts.length > 0 ? texts : title ? [title] : others.slice(0, 1)).map(({ name }) => name),
  }
}

type Column = { readonly name: string; readonly values: readonly string[] }

const isIdName = (name: string): boolean => ID_NAMES.includes(name) || name.endsWith('_id')
const areUnique = (values: readonly string[]): boolean =>
  new Set(values).size === values.length && !values.includes('')
const isText = ({ values }: Column): boolean => values.some((value) => /\p{L}{2}/u.test(value))
/** Several words on average. */
const isProse = ({ values }: Column): boolean =>
  values.reduce((sum, value) => sum + value.trim().split(/\s+/).length, 0) >= 3 * Math.max(1, values.length)
