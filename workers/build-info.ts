import { readFileSync } from 'node:fs'
import { Gauge } from 'prom-client'

/** The release that this checkout is or becomes. */
export const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** `x64` by the name that Kubernetes, and with it Karpenter, has for it. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64' }

/** Reports what runs here, by Karpenter's labels; where it names the version of Go, this names that of Node.js. */
export function reportBuild(commit: string): void {
  const gauge = new Gauge({
    name: 'karpenter_build_info',
    help: 'What was built, always 1; goversion is the version of Node.js.',
    labelNames: ['version', 'goversion', 'goarch', 'commit'],
  })
  gauge.set({ version, goversion: process.version, goarch: architectures[process.arch] ?? process.arch, commit }, 1)
}
