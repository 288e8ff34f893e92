/** What a test calls in the page of a chat. */
import type { McpUiHostContext, McpUiResourceCsp } from '@modelcontextprotocol/ext-apps/app-bridge'

type Theme = 'light' | 'dark'
type ToolResult = { content: { type: 'text'; text: string }[]; [more: string]: unknown }

export type ChatHost = {
  /** Whatever the card said, in order. */
  readonly methods: string[]
  readonly opened: string[]
  draw(card: {
    html: string
    csp: McpUiResourceCsp
    theme: Theme
    result: ToolResult
    variables?: NonNullable<McpUiHostContext['styles']>['variables']
  }): Promise<void>
  setTheme(theme: Theme): Promise<void>
  end(): Promise<void>
}
