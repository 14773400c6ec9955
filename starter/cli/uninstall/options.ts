import type { TemporalOptions } from '../operate/temporal-options.ts'

/** What becomes of the nodes that Joiner made. */
type NodesMode = 'keep' | 'karpenter' | 'remove'

/** Options of `uninstall`. */
export interface UninstallOptions extends TemporalOptions {
  readonly release: string
  readonly nodes: NodesMode
  readonly timeout: string
  readonly deleteHistory?: true
  readonly dryRun?: true
  readonly yes?: true
}
