import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mutant, mutated } from './mutants.ts'

/** A text of a file, and what stands in its place. */
export type Change = Pick<Mutant, 'path' | 'start' | 'end' | 'by'>

/** A copy of a checkout outside of it, with what is not committed; it shares the packages. Mutants live here alone. */
export class Copy {
  readonly folder = mkdtempSync(join(tmpdir(), `joiner-mutations-${process.pid}-`))
  readonly #root: string

  constructor(root: string) {
    this.#root = root
    removeLeft()
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    })
    for (const path of listed.split('\0'))
      if (path !== '' && existsSync(join(root, path))) cpSync(join(root, path), join(this.folder, path))
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
  }

  mutate(mutant: Change): void {
    writeFileSync(join(this.folder, mutant.path), mutated(this.#original(mutant.path), mutant))
  }

  restore({ path }: Pick<Change, 'path'>): void {
    writeFileSync(join(this.folder, path), this.#original(path))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  #original(path: string): string {
    return readFileSync(join(this.#root, path), 'utf8')
  }
}

/** Removes copies whose process was killed. */
function removeLeft(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^joiner-mutations-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
