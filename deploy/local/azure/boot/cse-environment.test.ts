import { expect, it } from 'vitest'
import { goldenSuite } from '../../../../test/vectors/golden-suite.ts'
import { cseEnvironment } from './cse-environment.ts'
import { parseNodeConfig } from './node-config.ts'
import { kubeletConfigFile, sysctlLines } from './provision.ts'

interface Case {
  readonly name: string
  readonly config: unknown
  readonly expected: {
    readonly tolerantParseOK: boolean
    readonly cseEnv: Readonly<Record<string, string>>
    readonly sysctl: readonly string[]
    readonly kubeletConfigFile: unknown
  }
}

goldenSuite('azure/anc-config', 19, ({ cases }: { readonly cases: readonly Case[] }) => {
  it.each(cases)('$name becomes the environment of the provisioning scripts', ({ config, expected }) => {
    const text = JSON.stringify(config)
    if (!expected.tolerantParseOK) return expect(() => parseNodeConfig(text)).toThrow()
    const read = parseNodeConfig(text)
    expect(cseEnvironment(read)).toEqual(expected.cseEnv)
    expect(sysctlLines(read)).toEqual(expected.sysctl)
    expect(kubeletConfigFile(read)).toEqual(expected.kubeletConfigFile)
  })
})
