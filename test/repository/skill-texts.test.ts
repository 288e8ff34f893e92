/** The skill texts agree with the product: commands, codes, limits, tools, paths and instructions to connect. */
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base'
import { describe, expect, test } from 'vitest'
import { OPEN_PER_CREDENTIAL } from '../../mcp/open-calls.ts'
import { TOOLS } from '../../mcp/tools.ts'
import { SETTINGS } from '../../src/boot/config.ts'
import { COMMANDS, GLOBAL_OPTIONS, ROOT_OPTIONS } from '../../src/cli/command-table.ts'
import { FOUND_FAILED } from '../../src/cli/exit-codes.ts'
import { UNREACHABLE } from '../../src/cli/unreachable-error.ts'
import { ASSISTANTS, type SetupStep } from '../../src/console/pages/connect/assistants.ts'
import { ERRORS, type ErrorCode } from '../../src/contracts/errors.ts'
import * as limits from '../../src/contracts/limits.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { SCOPES } from '../../src/contracts/scopes.ts'
import { skillPrompt } from '../../src/skills/prompt.ts'
import { readPublishedSkills } from '../../src/skills/read-published.ts'
import { commandLines, mistakes } from './skill-commands.ts'
import { filesUnder, readText } from './source-tree.ts'

const { version } = JSON.parse(readText('package.json')) as { version: string }
const bundle = readPublishedSkills()
const SKILL_IDS = bundle.skills.map(({ id }) => id)
const PAGES = filesUnder('skills')
  .filter((path) => path.endsWith('.md') && !path.startsWith('skills/published/'))
  .map((path) => ({ path, text: readText(path) }))
const textOf = (id: string): string =>
  PAGES.filter(({ path }) => path.startsWith(`skills/${id}/`))
    .map(({ text }) => text)
    .join('\n')
const page = (path: string): string => PAGES.find((one) => one.path === `skills/${path}`)?.text ?? ''
const prompt = skillPrompt(bundle)

describe('commands', () => {
  test.each([...PAGES, { path: 'svc --skill-prompt', text: prompt }])(
    '$path: every command line can be typed',
    ({ text }) => {
      expect(commandLines(text).flatMap(mistakes)).toEqual([])
    },
  )

  test('the check sees what is wrong', () => {
    const planted = 'Run `svc frobnicate` and\n\n```sh\npsql "$(svc db conect x -q)"\nsvc status --jsn\n```\n'
    expect(commandLines(planted).flatMap(mistakes)).toHaveLength(3)
  })

  // Those of three words stand in a reference: the prompt has no room for each, and names their first two.
  const PATHS = COMMANDS.map(({ path }) => path)
  /** The commands that a text names: the longest path that its words begin with, never a part of a word. */
  const named = (text: string) => new Set(commandLines(text).flatMap((words) => pathOf(words) ?? []))
  const pathOf = (words: readonly string[]) =>
    PATHS.filter((path) => `${words.join(' ')} `.startsWith(`${path} `)).toSorted(
      (a, b) => b.length - a.length,
    )[0]

  test.each(['svc/SKILL.md', 'the prompt'])('%s names every command of one or two words', (where) => {
    const there = named(where === 'the prompt' ? prompt : page(where))
    expect(PATHS.filter((path) => path.split(' ').length < 3 && !there.has(path))).toEqual([])
  })

  /** decisions, 14: a person decides on proposals, and no text teaches an agent to. */
  const UNTAUGHT = PATHS.filter((path) => /^apps proposals (approve|deny|retry)$/.test(path))

  test('the skill and its references name every command but those that decide', () => {
    const there = named(textOf('svc'))
    expect(UNTAUGHT).toHaveLength(3)
    expect(PATHS.filter((path) => !there.has(path))).toEqual(UNTAUGHT)
    for (const { path, text } of PAGES)
      expect([path, /proposals (approve|deny|retry)/.test(text)]).toEqual([path, false])
  })

  test('a command is not named by a longer word, nor by a command below it', () => {
    expect([...named('`svc apps deployments shop`, `svc apps logs push shop`')]).toEqual([
      'apps deployments',
      'apps logs push',
    ])
  })

  test('every option that is named by itself exists', () => {
    const known = [...COMMANDS.flatMap(({ options = [] }) => options), ...GLOBAL_OPTIONS, ...ROOT_OPTIONS]
    const names = new Set(known.map(({ long }) => `--${long}`))
    const said = [...(textOf('svc') + textOf('svc-faq')).matchAll(/`(--[a-z-]+)/g)].map(
      ([, name = '']) => name,
    )
    expect(said.length).toBeGreaterThan(20)
    expect(said.filter((name) => !names.has(name))).toEqual([])
  })
})

describe('errors', () => {
  test('the table of codes is that of the program', () => {
    const rows = [
      ...page('svc/references/errors-and-exit-codes.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (\d+) \|/gm),
    ]
    expect(rows.map(([, code, status, exit]) => [code, Number(status), Number(exit)])).toEqual(
      Object.entries(ERRORS).map(([code, { status, exit }]) => [code, status, exit]),
    )
  })

  test.each(PAGES)(
    '$path: wherever a code stands beside an exit code or a status, they belong together',
    ({ text }) => {
      const beside = [...text.matchAll(/\b(exit|[45]\d\d)(?: (\d+))? `([A-Z_]+)`(?:, `([A-Z_]+)`)*/g)]
      for (const [all, word = '', exit, ...codes] of beside) {
        for (const code of codes.filter((one): one is ErrorCode => one !== undefined)) {
          const { status, exit: right } = ERRORS[code]
          expect(word === 'exit' ? Number(exit) : Number(word), all).toBe(word === 'exit' ? right : status)
        }
      }
    },
  )

  test('the exit codes of the entry are those that the program and the contract know', () => {
    const rows = [...page('svc/SKILL.md').matchAll(/^\| (\d+) \| (.+?) \|/gm)]
    const exits = new Set([
      0,
      ...Object.values(ERRORS).map(({ exit }) => exit),
      FOUND_FAILED,
      UNREACHABLE.exit,
    ])
    expect(new Set(rows.map(([, exit]) => Number(exit)))).toEqual(exits)
    for (const [, exit, says = ''] of rows) {
      for (const [, code] of says.matchAll(/`([A-Z_]+)`/g)) {
        expect(ERRORS[code as ErrorCode].exit, code).toBe(Number(exit))
      }
    }
  })
})

const seconds = limits.CONNECTOR_SECONDS
const DAY = 24 * 60 * 60
const thousands = (value: number): string => value.toLocaleString('en-US')

/** Each number that the texts promise, built from the constants; `in` lists the pages that must have it. */
const PROMISES: readonly { says: string; in: readonly string[] }[] = [
  {
    says: `1 to ${limits.HITS_MAX} hits, default ${limits.HITS_DEFAULT}`,
    in: ['svc/references/datasource-query.md'],
  },
  {
    says: `1 to ${limits.HITS_MAX}, default ${limits.HITS_DEFAULT}`,
    in: [
      'svc/references/activity-and-limits.md',
      'svc-faq/SKILL.md',
      'svc-ai-gateway/references/tools-platform.md',
      'svc-ai-gateway/references/limits-and-activity.md',
    ],
  },
  {
    says: `${limits.ANSWER_MAX_BYTES / 1024} KiB`,
    in: [
      'svc/SKILL.md',
      'svc/references/activity-and-limits.md',
      'svc-faq/SKILL.md',
      'svc-ai-gateway/references/tools-platform.md',
    ],
  },
  {
    says: `${thousands(limits.QUESTION_MAX_CHARACTERS)} characters`,
    in: [
      'svc/references/datasource-query.md',
      'svc/references/activity-and-limits.md',
      'svc-ai-gateway/references/tools-platform.md',
    ],
  },
  { says: `${thousands(limits.FILTER_VALUES_MAX)} values`, in: ['svc/references/datasource-query.md'] },
  { says: `most ${limits.ENTRIES_MAX} tables`, in: ['svc/references/datasource-configure.md'] },
  { says: `most ${limits.EXPOSED_MAX} `, in: ['svc/references/datasource-configure.md', 'svc-faq/SKILL.md'] },
  { says: `at most ${limits.DATABASES_MAX}.`, in: ['svc/references/databases.md'] },
  {
    says: `${limits.QUESTION_STATEMENT_MS / 1000} seconds`,
    in: ['svc/references/datasource-query.md', 'svc/references/activity-and-limits.md'],
  },
  {
    says: `${limits.PAGE_DEFAULT} rows, at most ${limits.PAGE_MAX}`,
    in: ['svc/references/activity-and-limits.md'],
  },
  { says: `| ${limits.TOKENS_PER_PERSON} |`, in: ['svc/references/activity-and-limits.md'] },
  {
    says: `${limits.BODY_MAX_BYTES / 1024} KiB`,
    in: ['svc/references/activity-and-limits.md', 'svc-ai-gateway/references/limits-and-activity.md'],
  },
  {
    says: `for ${limits.HANDLE_SECONDS / 3600} hours`,
    in: ['svc-ai-gateway/references/limits-and-activity.md'],
  },
  {
    says: `${limits.DYNAMIC_CLIENTS.active} active`,
    in: [
      'svc-ai-gateway/references/limits-and-activity.md',
      'svc-ai-gateway/references/oauth-and-consent.md',
    ],
  },
  {
    says: `${limits.DYNAMIC_CLIENTS.perOrigin} per origin, ${limits.DYNAMIC_CLIENTS.seconds / DAY} days`,
    in: [
      'svc-ai-gateway/references/limits-and-activity.md',
      'svc-ai-gateway/references/oauth-and-consent.md',
    ],
  },
  {
    says: `${seconds.consent / 60} minutes; ${seconds.code} seconds`,
    in: ['svc-ai-gateway/references/oauth-and-consent.md'],
  },
  {
    says: `${seconds.accessToken / 60} minutes`,
    in: [
      'svc/references/agents-and-grants.md',
      'svc-ai-gateway/references/oauth-and-consent.md',
      'svc-faq/SKILL.md',
    ],
  },
  {
    says: `${seconds.refreshToken / DAY} days`,
    in: [
      'svc/references/agents-and-grants.md',
      'svc-ai-gateway/references/oauth-and-consent.md',
      'svc-faq/SKILL.md',
    ],
  },
  {
    says: `${seconds.grant / DAY} days`,
    in: [
      'svc/references/agents-and-grants.md',
      'svc-ai-gateway/references/oauth-and-consent.md',
      'svc-faq/SKILL.md',
    ],
  },
  {
    says: `${limits.METADATA_DOCUMENT.ms / 1000} seconds`,
    in: ['svc-ai-gateway/references/oauth-and-consent.md'],
  },
  {
    says: `${SETTINGS.QUESTIONS_PER_MINUTE.default} a minute`,
    in: [
      'svc/references/activity-and-limits.md',
      'svc-ai-gateway/references/limits-and-activity.md',
      'svc-faq/SKILL.md',
    ],
  },
  {
    says: `${SETTINGS.MCP_CALLS_PER_MINUTE.default} a minute, ${OPEN_PER_CREDENTIAL} at once`,
    in: ['svc-ai-gateway/references/limits-and-activity.md'],
  },
  { says: `${SETTINGS.QUESTIONS_PER_MINUTE.default} questions a minute`, in: ['svc/SKILL.md'] },
  {
    says: `${thousands(Number(SETTINGS.QUESTIONS_PER_DAY.default))} a day`,
    in: [
      'svc/SKILL.md',
      'svc/references/activity-and-limits.md',
      'svc-ai-gateway/references/limits-and-activity.md',
      'svc-faq/SKILL.md',
    ],
  },
  {
    says: `${SETTINGS.ACTIVITY_DAYS.default} days`,
    in: ['svc/references/activity-and-limits.md', 'svc-faq/SKILL.md'],
  },
  { says: `port ${SETTINGS.MANAGED_DATABASE_PORT.default}`, in: ['svc/references/databases.md'] },
]

test.each(PROMISES)('"$says" is promised where it should be', ({ says, in: pages }) => {
  const silent = pages.filter(
    (path) => !page(path).replaceAll(/\s+/g, ' ').includes(says.replaceAll(/\s+/g, ' ')),
  )
  expect(silent).toEqual([])
})

describe('names', () => {
  const ENVIRONMENT = ['SVC_API_URL', 'SVC_API_KEY', 'SVC_CONTEXT', 'SVC_CONFIG_DIR', 'XDG_CONFIG_HOME']
  test.each(PAGES)(
    '$path: every name in capitals is a setting, an error or read by the client',
    ({ text }) => {
      const known = new Set([...Object.keys(SETTINGS), ...Object.keys(ERRORS), ...ENVIRONMENT])
      const said = [...text.matchAll(/(?<![\w-])[A-Z]+(?:_[A-Z]+)+(?!\w)/g)].map(([name]) => name)
      expect(said.filter((name) => !known.has(name))).toEqual([])
    },
  )

  test.each(PAGES)('$path: every path of the API is there', ({ text }) => {
    const templates = OPERATIONS.map(
      ({ http }) => new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    )
    const said = [...text.matchAll(/\/api\/(?:v1|wf|notifications|deploy)[\w/{}<>-]*/g)].map(([path]) => path)
    expect(said.filter((path) => !templates.some((template) => template.test(path)))).toEqual([])
  })

  test.each(['platform', 'notifications'] as const)(
    'the tools of /%s are those that are offered',
    (resource) => {
      const text = page(`svc-ai-gateway/references/tools-${resource}.md`)
      const listed = [
        ...text
          .split('| Tool |')[1]!
          .split('\n\n')[0]!
          .matchAll(/^\| `(\w+)`/gm),
      ].map(([, name]) => name)
      expect(listed).toEqual(TOOLS.filter((tool) => tool.resource === resource).map(({ name }) => name))
      for (const { name } of TOOLS.filter((tool) => tool.resource === resource)) {
        expect(page('svc-ai-gateway/SKILL.md')).toContain(`\`${name}\``)
        expect(page('svc/references/mcp-and-http.md')).toContain(`\`${name}\``)
      }
    },
  )

  test.each(['svc/references/agents-and-grants.md', 'svc-ai-gateway/references/oauth-and-consent.md'])(
    '%s names every scope',
    (path) => {
      for (const scope of Object.keys(SCOPES)) expect(page(path)).toContain(`\`${scope}\``)
    },
  )
})

/** The page of the console and the skill tell the same story. */
describe('ways to connect', () => {
  const text = textOf('svc-ai-gateway')
  const objects = [...text.matchAll(/```json\n([^]*?)```/g)].map(([, json = '']) =>
    JSON.stringify(JSON.parse(json)),
  )

  test.each(ASSISTANTS.map((assistant) => [assistant.name, assistant] as const))('%s', (_name, assistant) => {
    const endpoint = { name: 'svc', url: 'https://mcp.example.com/platform' }
    const here = { name: 'svc', url: 'http://localhost:4000/platform' }
    const setup = [...assistant.setup(endpoint), ...(assistant.localSetup?.(here) ?? [])]
    expect(setup.filter((step) => !isTold(step))).toEqual([])
  })

  function isTold(step: SetupStep): boolean {
    if (step.kind === 'command') return text.includes(step.text)
    if (step.kind === 'file') return objects.includes(JSON.stringify(JSON.parse(step.text)))
    // This link is made of an object that the command beside it has in full.
    return step.href.startsWith('vscode:') || text.includes(step.href)
  }
})

/** agentskills.io, specification; sizes as the project promises them. */
describe('form', () => {
  const KEYS = ['name', 'description', 'license', 'compatibility', 'metadata']

  test.each(bundle.skills.map((skill) => [skill.id, skill] as const))(
    '%s is a skill by the rules',
    (id, skill) => {
      const { frontmatter } = skill
      expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      expect(frontmatter.name).toBe(id)
      expect(frontmatter.description.length).toBeLessThanOrEqual(1024)
      expect(Object.keys(frontmatter).filter((key) => !KEYS.includes(key))).toEqual([])
      expect(JSON.stringify(frontmatter['compatibility'] ?? '').length).toBeLessThanOrEqual(500)
      expect(frontmatter['metadata']).toEqual({ version })
      const entry = page(`${id}/SKILL.md`)
      expect(entry.split('\n').length).toBeLessThanOrEqual(250)
      expect(countTokens(entry)).toBeLessThan(5_000)
    },
  )

  test.each(PAGES)('$path is small, finished, and ends like a text', ({ path, text }) => {
    if (!path.endsWith('/SKILL.md')) expect(Buffer.byteLength(text)).toBeLessThan(8 * 1024)
    expect(text).not.toMatch(/\b(TODO|TBD|FIXME|lorem|coming soon|xxx)\b/i)
    expect(text).toMatch(/[^\n]\n$/)
    expect(text).not.toMatch(/\r|\t| $/m)
  })

  test.each(['svc', 'svc-ai-gateway'])(
    '%s: the entry says when to read each of its nine references',
    (id) => {
      const there = PAGES.map(({ path }) => path).filter((path) =>
        path.startsWith(`skills/${id}/references/`),
      )
      const rows = [
        ...page(`${id}/SKILL.md`).matchAll(/^\| \[[\w-]+\]\((references\/[\w-]+\.md)\) \| \S.{9,} \|$/gm),
      ]
      expect(there).toHaveLength(9)
      expect(rows.map(([, link]) => `skills/${id}/${link}`).toSorted()).toEqual(there)
    },
  )

  test.each(PAGES)('$path: links lead to files of the same skill, one level deep', ({ path, text }) => {
    const folder = path.slice(0, path.lastIndexOf('/'))
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    const right = path.endsWith('/SKILL.md') ? /^references\/[\w-]+\.md$/ : /^[\w-]+\.md$/
    expect(
      links.filter((link) => !right.test(link) || page(`${folder}/${link}`.slice('skills/'.length)) === ''),
    ).toEqual([])
  })

  test('the questions of svc-faq are 25, numbered, each with an answer', () => {
    const pairs = [...page('svc-faq/SKILL.md').matchAll(/^\*\*(\d+)\. .+\?\*\*\n\S/gm)]
    expect(pairs.map(([, number]) => Number(number))).toEqual(Array.from({ length: 25 }, (_, at) => at + 1))
  })

  test('the block for AGENTS.md and GEMINI.md is short and leads to the skill', () => {
    for (const { id, installable, agentsBlock } of bundle.skills) {
      if (!installable) continue
      expect(agentsBlock.body.trim().split('\n').length).toBeLessThanOrEqual(12)
      expect(agentsBlock.body).toContain(`\`.agents/skills/${id}/SKILL.md\``)
    }
    expect(SKILL_IDS).toEqual(['svc', 'svc-ai-gateway', 'svc-faq'])
  })

  test('the prompt is one plain text of at most 1,500 tokens that names its version', () => {
    expect(countTokens(prompt)).toBeLessThanOrEqual(1_500)
    expect(prompt).toContain(`svc ${version}`)
    expect(prompt).not.toMatch(/[^\P{Cc}\n]|^---|\]\(/mu)
    expect(prompt).toContain('svc skills show svc')
  })
})
