/** Commands about this machine and its login: nothing of them is an operation alone. */
import { CONSOLE_PAGE_NAMES } from '../console-pages.ts'
import type { Argument, HandWritten } from '../command.ts'
import { YES } from './shared.ts'

const CONTEXT: Argument = { name: 'name', summary: 'From `svc context list`', values: 'contexts' }
const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

export const SESSION_ROWS: readonly HandWritten[] = [
  {
    path: 'login',
    summary: 'Sign in to an instance in the browser, or with an API token, and save it as a context',
    options: [
      { long: 'api-url', value: 'url', summary: 'URL of the instance (default $SVC_API_URL)' },
      {
        long: 'api-key',
        value: 'key',
        summary: 'API token, or - to read it from stdin (default $SVC_API_KEY)',
      },
      { long: 'device', summary: 'Sign in with a code, in a browser anywhere' },
      { long: 'use', summary: 'Switch to this context' },
      { long: 'insecure-http', summary: 'Allow an unencrypted connection on a network you trust' },
    ],
    examples: [
      'svc login --api-url https://api.example.com',
      'svc login --api-url https://api.example.com --device',
      'svc login --api-url https://api.example.com --api-key - < token.txt',
      'svc login --api-url https://api.example.com --api-key - --context work --use < token.txt',
    ],
    load: async () => (await import('../commands/login.ts')).login,
  },
  {
    path: 'logout',
    summary: 'Sign out of the current context, and remove it; an API token is not revoked',
    examples: ['svc logout', 'svc logout --context work'],
    load: async () => (await import('../commands/logout.ts')).logout,
  },
  {
    path: 'status',
    summary: 'Show the current login: server, user and role; exits 3 if logged out',
    examples: ['svc status', 'svc status --json'],
    load: async () => (await import('../commands/status.ts')).status,
  },
  {
    path: 'context list',
    summary: 'List contexts',
    examples: ['svc context list'],
    load: async () => (await import('../commands/context.ts')).listContexts,
  },
  {
    path: 'context use',
    summary: 'Switch to a context',
    arguments: [CONTEXT],
    examples: ['svc context use work'],
    load: async () => (await import('../commands/context.ts')).useContext,
  },
  {
    path: 'context show',
    summary: 'Show a context (default: the current one)',
    arguments: [{ ...CONTEXT, optional: true }],
    examples: ['svc context show', 'svc context show work --json'],
    load: async () => (await import('../commands/context.ts')).showContext,
  },
  {
    path: 'context remove',
    summary: 'Remove a context and its saved token; the token is not revoked',
    arguments: [CONTEXT],
    options: [YES],
    examples: ['svc context remove work --yes'],
    load: async () => (await import('../commands/context.ts')).removeContext,
  },
  {
    path: 'open',
    summary: 'Open a page of the console in the browser, or print its URL where there is none',
    arguments: [
      {
        name: 'page',
        summary: 'Page (default overview)',
        optional: true,
        choices: CONSOLE_PAGE_NAMES,
      },
      { name: 'name', summary: 'Of an app or a data source', optional: true },
    ],
    options: [{ long: 'no-browser', summary: 'Print the URL' }],
    examples: ['svc open', 'svc open apps shop', 'svc open activity --no-browser'],
    load: async () => (await import('../commands/open.ts')).openConsole,
  },
  {
    path: 'api',
    summary: 'Call the HTTP API with the login of the context',
    arguments: [
      { name: 'method', summary: 'GET, POST, PUT, PATCH or DELETE' },
      { name: 'path', summary: 'Path, such as /api/v1/me; the API is described at /api/docs' },
    ],
    options: [
      {
        long: 'field',
        short: 'F',
        value: 'key=value',
        summary: 'Field of the body, or parameter of a GET or DELETE: true, null, 5, @file or text',
        repeatable: true,
      },
      {
        long: 'raw-field',
        short: 'f',
        value: 'key=value',
        summary: 'The same, always as text',
        repeatable: true,
      },
      {
        long: 'input',
        value: 'file',
        summary: 'Body from a file, or - for stdin; fields are parameters then',
      },
      { long: 'header', short: 'H', value: 'line', summary: 'Header as "Name: value"', repeatable: true },
      { long: 'paginate', summary: 'Fetch all pages of a list' },
    ],
    examples: [
      'svc api GET /api/v1/me',
      'svc api GET /api/wf/activity -F type=data_source --paginate',
      'svc api POST /api/wf/slim/search -f "query=parental leave" -F "sources[]=db_handbook"',
      'svc api PUT /api/wf/data-sources/db_handbook --input configuration.json',
    ],
    load: async () => (await import('../commands/api.ts')).callApi,
  },
  {
    path: 'doctor',
    summary: 'Check the client, its configuration, the server and your token',
    options: [{ long: 'mcp', value: 'url', summary: 'Also check how assistants reach this MCP endpoint' }],
    examples: ['svc doctor', 'svc doctor --mcp https://mcp.example.com/platform'],
    load: async () => (await import('../commands/doctor.ts')).doctor,
  },
  {
    path: 'completion',
    summary: 'Print a shell completion script',
    arguments: [{ name: 'shell', summary: 'Shell', choices: SHELLS }],
    examples: [
      'svc completion bash > ~/.local/share/bash-completion/completions/svc',
      'svc completion fish | source',
    ],
    load: async () => (await import('../commands/completion.ts')).printCompletion,
  },
]
