/** The API reference as one page, rendered from the OpenAPI document. */
import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import type { OpenApi, OpenApiOperation } from './openapi.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:light-dark(#1a211d,#e7ece8);--soft:light-dark(#56605a,#a2aea7);--line:light-dark(#e4e2d9,#26302b);--ground:light-dark(#f6f5f1,#0e1311);--card:light-dark(#fff,#151c19);--accent:light-dark(#0b6b5b,#6fd3bb)}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:60rem;margin:auto;padding:2.5rem 1.25rem 6rem}h1{font:500 2rem ui-serif,Charter,Cambria,Georgia,serif;margin:0 0 .25rem}h2{margin:3rem 0 1rem;font-size:1.25rem;text-transform:capitalize}
p{margin:.4rem 0;color:var(--soft)}a{color:var(--accent)}details{background:var(--card);border:1px solid var(--line);border-radius:12px;margin:.6rem 0}
summary{padding:.8rem 1rem;cursor:pointer;display:flex;gap:.8rem;align-items:baseline;flex-wrap:wrap;list-style:none}summary::-webkit-details-marker{display:none}
summary:focus-visible,a:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:12px}
.method{font:600 .8rem ui-monospace,monospace;color:var(--accent);min-width:3.6rem}.path{font:.92rem ui-monospace,monospace;overflow-wrap:anywhere}.summary{color:var(--soft);font-size:.92rem}
.inside{padding:0 1rem 1rem;border-top:1px solid var(--line)}h3{font-size:.85rem;margin:1.2rem 0 .4rem;color:var(--soft);font-weight:600}
table{border-collapse:collapse;width:100%;font-size:.92rem}td,th{text-align:start;padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}code{font:.88rem ui-monospace,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto}
`

/** The page's one style is named by its hash, so the policy needs no exception. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'`

export async function apiDocsPage(document: OpenApi): Promise<Response> {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ path, method, op })),
  )
  const groups = Map.groupBy(all, ({ op }) => op.tags[0] ?? '')
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>svc API ${document.info.version}</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <h1>svc API</h1>
          <p>
            Version ${document.info.version} at <code>${document.servers[0]?.url ?? ''}</code>. Send
            <code>Authorization: Bearer …</code> with an API token from Settings, API tokens. Responses are JSON, or YAML
            with <code>Accept: application/yaml</code>. For programs: <a href="/api/openapi.json">openapi.json</a>.
          </p>
          ${[...groups].map(([tag, rows]) => html`<h2>${tag}</h2>${rows.map((row) => operation(row))}`)}
        </main>
      </body>
    </html>`
  return new Response(String(page), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
    },
  })
}

const operation = ({ path, method, op }: { path: string; method: string; op: OpenApiOperation }) =>
  html`<details id="${op.operationId}">
    <summary>
      <span class="method">${method.toUpperCase()}</span><span class="path">${path}</span
      ><span class="summary">${op.summary}</span>
    </summary>
    <div class="inside">
      <p>${op.description}</p>
      ${table('Parameters', parametersOf(op))} ${table('Body', fieldsOf(op.requestBody))}
      ${table(
        'Responses',
        Object.entries(op.responses).map(([status, { description }]) => [status, description]),
      )}
    </div>
  </details>`

const table = (title: string, rows: readonly (readonly string[])[]) =>
  rows.length > 0 &&
  html`<h3>${title}</h3>
    <div class="wide">
      <table>
        ${rows.map(
          ([name, ...rest]) =>
            html`<tr>
              <th scope="row"><code>${name}</code></th>
              ${rest.map((text) => html`<td>${text}</td>`)}
            </tr>`,
        )}
      </table>
    </div>`

type Schema = {
  type?: unknown
  enum?: unknown[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
}

const parametersOf = (op: OpenApiOperation): string[][] =>
  (op.parameters ?? []).map((parameter) => {
    const schema = parameter.schema as Schema
    return [
      parameter.name,
      `${parameter.in}${parameter.required ? ', required' : ''}`,
      parameter.description ?? schema.description ?? typeOf(schema),
    ]
  })

function fieldsOf(body: OpenApiOperation['requestBody']): string[][] {
  const schema = body?.content['application/json']?.schema as Schema | undefined
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => [
    name,
    `${typeOf(field)}${schema?.required?.includes(name) ? ', required' : ''}`,
    field.description ?? '',
  ])
}

const typeOf = (schema: Schema): string =>
  schema.enum ? schema.enum.map(String).join(', ') : typeof schema.type === 'string' ? schema.type : 'value'
