import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type GinkgoReport, type Spec, specsOf } from './specs.ts'

/** The specs of suites, as their binaries list them. */
export function listSpecs(binaries: Readonly<Record<string, string>>): readonly Spec[] {
  const folder = mkdtempSync(join(tmpdir(), 'joiner-upstream-e2e-'))
  try {
    return Object.entries(binaries).flatMap(([suite, binary]) => {
      const file = join(folder, suite)
      execFileSync(binary, ['--ginkgo.dry-run', `--ginkgo.json-report=${file}`], { cwd: folder, stdio: 'ignore' })
      const reports = JSON.parse(readFileSync(file, 'utf8')) as readonly GinkgoReport[]
      return reports.flatMap((report) => specsOf(suite, report))
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
