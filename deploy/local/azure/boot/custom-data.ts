import { parse } from 'yaml'
import { runScript } from './shell.ts'
import type { NodeFiles } from './shell-commands.ts'

const folder = '/opt/azure/containers'
/** Where the node's controller expects its configuration. */
export const configPath = `${folder}/aks-node-controller-config.json`
export const launcherPath = `${folder}/aks-node-controller-launcher.sh`
export const controllerUnit = 'systemctl start aks-node-controller.service'

/** What a node image of AKS brings along, as far as boothooks look for it. */
function imageFiles(): NodeFiles {
  const script = { content: '', mode: 0o755 }
  return new Map([
    [launcherPath, script],
    [`${folder}/provision_preload.sh`, script],
  ])
}

export interface FirstBoot {
  readonly files: NodeFiles
  readonly started: readonly string[]
  readonly problems: readonly string[]
}

interface Part {
  readonly type: string
  readonly body: string
}

/**
 * What cloud-init makes of custom data: the effects of its boothooks and of its cloud-config (reference/bootstrap.md 2).
 * Custom data that it cannot read has no effect and is a problem.
 */
export function firstBoot(customData: string): FirstBoot {
  const files = imageFiles()
  const started: string[] = []
  const problems: string[] = []
  const { parts, problem } = partsOf(customData)
  if (problem !== undefined) problems.push(problem)
  const run = (script: string) => {
    const outcome = runScript(script, files)
    started.push(...outcome.started)
    problems.push(...outcome.problems)
  }
  // Boothooks run before everything else, wherever they stand.
  for (const { type, body } of parts) if (type === 'text/cloud-boothook') run(body)
  for (const { type, body } of parts) {
    if (type === 'text/cloud-config') {
      const config = cloudConfig(body)
      if (config === undefined) problems.push('cloud-config is not YAML')
      else {
        writeFiles(config, files)
        run((config.runcmd ?? []).map((line) => (typeof line === 'string' ? line : line.join(' '))).join('\n'))
      }
    } else if (type === 'text/x-shellscript') run(body)
    else if (type !== 'text/cloud-boothook') problems.push(`cloud-init does not handle content of type ${type}`)
  }
  return { files, started, problems }
}

function partsOf(customData: string): { readonly parts: readonly Part[]; readonly problem?: string } {
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(customData)) return { parts: [], problem: 'custom data is not base64' }
  const document = Buffer.from(customData, 'base64').toString()
  const type = typeOfScript(document)
  if (type !== undefined) return { parts: [{ type, body: document }] }
  const { headers, body } = headersAndBody(document)
  const boundary = /boundary="?([^";\r\n]+)"?/i.exec(headers.get('content-type') ?? '')?.[1]
  if (boundary === undefined || !(headers.get('content-type') ?? '').toLowerCase().startsWith('multipart/'))
    return { parts: [], problem: 'custom data is neither a MIME multipart document nor a script' }
  const [, ...pieces] = `\n${body}`.replaceAll('\r\n', '\n').split(`\n--${boundary}`)
  if (!pieces.some((piece) => piece.startsWith('--')))
    return { parts: [], problem: 'the MIME document of custom data does not end with its boundary' }
  return { parts: pieces.filter((piece) => !piece.startsWith('--')).map(partOf) }
}

function partOf(piece: string): Part {
  const { headers, body } = headersAndBody(piece.replace(/^\s*\n/, ''))
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase()
  return {
    type: (headers.get('content-type') ?? 'text/plain').split(';')[0]?.trim().toLowerCase() ?? '',
    body: encoding === 'base64' ? Buffer.from(body, 'base64').toString() : body,
  }
}

function headersAndBody(text: string): { readonly headers: ReadonlyMap<string, string>; readonly body: string } {
  const [, head = '', body = ''] = /^([\s\S]*?)\r?\n\r?\n([\s\S]*)$/.exec(text) ?? [undefined, text]
  const headers = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return {
    headers: new Map(
      headers.map((line): [string, string] => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
      }),
    ),
    body,
  }
}

function typeOfScript(document: string): string | undefined {
  if (document.startsWith('#cloud-boothook')) return 'text/cloud-boothook'
  if (document.startsWith('#cloud-config')) return 'text/cloud-config'
  return document.startsWith('#!') ? 'text/x-shellscript' : undefined
}

interface CloudConfig {
  readonly write_files?: readonly {
    readonly path: string
    readonly content?: string | Uint8Array
    readonly encoding?: string
    readonly permissions?: string
  }[]
  readonly runcmd?: readonly (string | readonly string[])[]
}

/** Undefined if the text is not YAML. */
function cloudConfig(text: string): CloudConfig | undefined {
  try {
    return (parse(text) ?? {}) as CloudConfig
  } catch {
    return undefined
  }
}

function writeFiles(config: CloudConfig, files: NodeFiles): void {
  for (const { path, content = '', encoding = '', permissions = '0644' } of config.write_files ?? []) {
    const isEncoded = typeof content === 'string' && ['b64', 'base64'].includes(encoding)
    const bytes =
      typeof content === 'string' ? Buffer.from(content, isEncoded ? 'base64' : 'utf8') : Buffer.from(content)
    files.set(path, { content: bytes.toString(), mode: Number.parseInt(permissions, 8) })
  }
}
