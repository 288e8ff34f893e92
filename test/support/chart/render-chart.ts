/** Renders the chart as Helm does: values of chart, subcharts and user put together, asked of the schema, then templates. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import * as z from 'zod'
import { execute, parseTemplate, type Body, type Parsed, type Value } from './template-language.ts'
import { templateFunctions } from './template-functions.ts'

const CHART = fileURLToPath(new URL('../../../chart', import.meta.url))

export type Values = { readonly [name: string]: Value }

type ChartFile = {
  readonly name: string
  readonly version: string
  readonly appVersion: string
  readonly dependencies?: readonly { readonly name: string; readonly condition: string }[]
}

type Chart = {
  readonly about: ChartFile
  readonly values: Values
  readonly templates: ReadonlyMap<string, Parsed>
}

export type Rendered = {
  /** By path, only those that are not empty. */
  readonly files: ReadonlyMap<string, string>
  readonly notes: string
}

export class RefusedValues extends Error {
  override readonly name = 'RefusedValues'
}

export type Options = {
  readonly release?: string
  /** Instead of the chart's own: `helm upgrade --reuse-values` puts those of the older release there. */
  readonly chartValues?: Values
}

const RELEASE = { Name: 'svc', Namespace: 'platform', Service: 'Helm' }

export function renderChart(values: Values, { release = RELEASE.Name, chartValues }: Options = {}): Rendered {
  const umbrella = readChart('.')
  const subcharts = (umbrella.about.dependencies ?? []).map(({ name, condition }) => ({
    chart: readChart(`charts/${name}`),
    condition,
  }))
  const base = merge(chartValues ?? umbrella.values, values)
  const enabled = subcharts.filter(({ condition }) => at(base, condition) !== false)
  const all = enabled.reduce<Values>((sum, { chart }) => withSubchart(sum, chart), base)
  refuseBySchema(all)

  const bodies: { path: string; body: Body; dot: Value }[] = []
  const defined = new Map<string, Body>()
  for (const { chart, folder, own } of [
    { chart: umbrella, folder: 'svc', own: all },
    ...enabled.map(({ chart }) => ({
      chart,
      folder: `svc/charts/${chart.about.name}`,
      own: all[chart.about.name],
    })),
  ]) {
    const { name, version, appVersion } = chart.about
    const dot = {
      Values: own,
      Chart: { Name: name, Version: version, AppVersion: appVersion },
      Release: { ...RELEASE, Name: release },
    }
    for (const [file, parsed] of chart.templates) {
      for (const [template, body] of parsed.defined) defined.set(template, body)
      bodies.push({ path: `${folder}/templates/${file}`, body: parsed.body, dot })
    }
  }
  const functions = templateFunctions((name, dot) => {
    const body = defined.get(name)
    if (!body) throw new Error(`There is no template ${name}`)
    return execute(body, dot, functions)
  })
  const rendered = bodies
    .filter(({ path }) => !path.endsWith('.tpl'))
    .map(({ path, body, dot }) => [path, execute(body, dot, functions).trim()] as const)
  const files = rendered.filter(([path, text]) => text !== '' && !path.endsWith('NOTES.txt'))
  return {
    files: new Map(files.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    notes: rendered.find(([path]) => path.endsWith('NOTES.txt'))?.[1] ?? '',
  }
}

/** As `helm template` prints it. */
export const asText = ({ files }: Rendered): string =>
  [...files].map(([path, text]) => `---\n# Source: ${path}\n${text}\n`).join('')

const charts = new Map<string, Chart>()

/** Once for all tests: reading and parsing takes longer than rendering. */
export function readChart(folder: string): Chart {
  const chart = charts.get(folder) ?? parseChart(folder)
  charts.set(folder, chart)
  return chart
}

function parseChart(folder: string): Chart {
  const read = (path: string) => readFileSync(join(CHART, folder, path), 'utf8')
  const templates = globSync('templates/*', { cwd: join(CHART, folder) }).toSorted()
  return {
    about: parse(read('Chart.yaml')) as ChartFile,
    values: parse(read('values.yaml')) as Values,
    templates: new Map(templates.map((path) => [path.replace('templates/', ''), parseTemplate(read(path))])),
  }
}

const isTable = (value: Value): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The second goes before the first; its null takes a value away. */
export function merge(base: Values, over: Values): Values {
  const merged: Record<string, Value> = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name]
    if (value === null) delete merged[name]
    else merged[name] = isTable(value) && isTable(below) ? merge(below, value) : value
  }
  return merged
}

const at = (values: Values, path: string): Value =>
  path.split('.').reduce<Value>((inner, name) => (isTable(inner) ? inner[name] : undefined), values)

function withSubchart(all: Values, { about, values }: Chart): Values {
  const own = merge(values, (all[about.name] ?? {}) as Values)
  return { ...all, [about.name]: { ...own, global: all['global'] } }
}

let schema: z.ZodType | undefined

function refuseBySchema(values: Values): void {
  schema ??= z.fromJSONSchema(
    JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Parameters<
      typeof z.fromJSONSchema
    >[0],
  )
  const { error } = schema.safeParse(values)
  if (error) throw new RefusedValues(error.issues.map(problem).join('\n'))
}

const problem = (issue: z.core.$ZodIssue): string => {
  const names = issue.code === 'unrecognized_keys' ? issue.keys : []
  const paths = names.length > 0 ? names.map((name) => [...issue.path, name]) : [issue.path]
  return paths.map((path) => `${path.join('.')}: ${issue.message}`).join('\n')
}
