/** Clients that are known to connect through identity providers. Their documents name no secret, so they are public. */
type Preset = { id: string; label: string; client_id: string; isPublic: boolean; hint: string }

export const CLIENT_PRESETS: readonly Preset[] = [
  {
    id: 'claude',
    label: 'Claude',
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    isPublic: true,
    hint: 'Its metadata document. Better: create a client instead, and enter its ID and secret at Claude.',
  },
  {
    id: 'vs-code',
    label: 'VS Code',
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    isPublic: true,
    hint: 'Its metadata document.',
  },
]
