// Writes what follows from `api/`: the CRDs, the chart's admission warnings, and the chart's and the documentation's lists of rights; and the chart's
// boards and alerts, from `boards/` and `alerts/`. With `--check` it only compares.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rulesText } from './alerts/rules.ts'
import { dashboardFiles } from './boards/boards.ts'
import { admissionPolicyTemplate } from './generate-admission-policy.ts'
import { crdFiles } from './generate-crds.ts'
import { rightsTable, rightsTemplate, withTable } from './generate-rights.ts'

const here = dirname(fileURLToPath(import.meta.url))
const securityPage = '../docs/security.md'

function main(): void {
  const files = new Map([
    ...crdFiles(),
    ['chart/templates/admission-policy.yaml', admissionPolicyTemplate()],
    ['chart/templates/rights.yaml', rightsTemplate()],
    ...dashboardFiles(),
    ['chart/rules.yaml', rulesText()],
    [securityPage, withTable(readFileSync(join(here, securityPage), 'utf8'), rightsTable())],
  ])
  const differing: string[] = []
  for (const [name, text] of files) {
    const path = join(here, name)
    if (process.argv.includes('--check')) {
      if (read(path) !== text) differing.push(path)
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }
  if (differing.length === 0) return
  console.error(`not what the sources say; run "npm run generate":\n${differing.join('\n')}`)
  process.exitCode = 1
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

main()
