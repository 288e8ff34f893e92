/** Lists with filters in their address: which there are and what they take is read off the list's contract. */
import type * as z from 'zod'
import type { Operation } from '../contracts/operation.ts'
import { inputField, type Content, type Option } from '../pages/parts.ts'
import { filterSelect } from './components.ts'
import { contractField } from './contract-field.ts'
import { sessionOf, type PageContext } from './context.ts'

type Filter = {
  readonly label: string
  /** In the address, where it is not the key. */
  readonly name?: string
  readonly id?: string
  readonly placeholder?: string
  /** Of a choice: no filter. */
  readonly all?: string
  /** Of a choice from a list of the contract. */
  readonly labels?: Readonly<Record<string, string | { readonly label: string }>>
  readonly options?: readonly Option[]
  /** The label of a value that is no longer among the options. */
  readonly missing?: string
}

/** Once, when the page is loaded. */
export function listOf<
  I extends z.ZodObject,
  O extends z.ZodObject,
  K extends keyof z.input<I> & string = never,
>(operation: Operation<I, O>, filters: Readonly<Record<K, Filter>> = {} as Record<K, Filter>) {
  type Values = { readonly [Key in K]?: z.input<I>[Key] }
  const known = (Object.keys(filters) as K[]).map((key) => {
    const schema = operation.input.shape[key] as z.ZodType
    return { key, schema, filter: filters[key], field: contractField(key, schema, false) }
  })
  const isCounted = 'count' in operation.input.shape

  /** People edit addresses: invalid values are ignored, not refused. */
  function read(c: PageContext): Values {
    const query = queryOf(c)
    const values = known.map(({ key, schema, filter, field }) => {
      const typed = query[filter.name ?? key]?.trim().slice(0, field.maxlength) || undefined
      return [key, typed !== undefined && schema.safeParse(typed).success ? typed : undefined]
    })
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Values
  }

  /** `options`: what nobody knows before the page is shown. */
  function fields(c: PageContext, options: { readonly [Key in K]?: readonly Option[] } = {}): Content {
    const values = read(c)
    return known.map(({ key, filter, field }) => {
      const { name = key, label, id, all, labels, missing, placeholder } = filter
      const value = values[key] as string | undefined
      if (all === undefined)
        return inputField({ id, name, label, type: 'search', value, maxlength: field.maxlength, placeholder })
      const offered = options[key] ?? filter.options ?? field.choices.map((one) => optionOf(one, labels))
      return filterSelect({ name, label, value, all, options: offered, id, missing })
    })
  }

  return {
    /** For what has the same filters: another list, or an export. */
    read,
    fields,
    /** The page of the list that the address asks for. */
    call(c: PageContext, also: Omit<z.input<I>, K | 'cursor' | 'count' | 'limit'>): Promise<z.output<O>> {
      const paging = { cursor: queryOf(c)['cursor'], ...(isCounted && { count: 'true' }) }
      return sessionOf(c).call(operation, { ...also, ...read(c), ...paging } as unknown as z.input<I>)
    },
    isFiltered: (c: PageContext): boolean => Object.keys(read(c)).length > 0,
    /** Of a `listCard`. */
    parts: (c: PageContext, listed: Paged, options?: Parameters<typeof fields>[1]) => ({
      next: listed.next_cursor,
      total: listed.total,
      isFiltered: Object.keys(read(c)).length > 0,
      ...(known.length > 0 && { filters: fields(c, options) }),
    }),
  }
}

type Paged = { readonly next_cursor?: string | undefined; readonly total?: number | undefined }

/** A form that is shown again has an address of its own. */
const queryOf = (c: PageContext): Record<string, string> => (c.req.method === 'GET' ? c.req.query() : {})

const optionOf = (value: string, labels: Filter['labels'] = {}): Option => {
  const said = labels[value] ?? value
  return { value, label: typeof said === 'string' ? said : said.label }
}
