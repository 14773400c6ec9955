// How a variable of the provisioning scripts follows from the node configuration.
import type { NodeConfig } from './node-config.ts'

export type Rule = (config: NodeConfig) => string

export const fixed =
  (value: string): Rule =>
  () =>
    value
export const text =
  (path: string, absent = ''): Rule =>
  (config) =>
    config.text(path) || absent
export const number =
  (path: string, absent = 0): Rule =>
  (config) =>
    String(config.number(path, absent))
export const flag =
  (path: string, absent = false): Rule =>
  (config) =>
    String(config.flag(path, absent))
export const isSet =
  (...paths: readonly string[]): Rule =>
  (config) =>
    String(paths.some((path) => config.text(path) !== ''))
/** What an enumeration's name says after its prefix, in the words of the scripts. */
export const word =
  (path: string, prefix: string, words: readonly string[]): Rule =>
  (config) => {
    const value = config.text(path).slice(prefix.length).toLowerCase()
    return words.includes(value) ? value : ''
  }
export const joined =
  (path: string, separator = ','): Rule =>
  (config) =>
    config.list(path).join(separator)
export const sortedPairs =
  (path: string, separator: string, isDropped: (key: string, config: NodeConfig) => boolean = () => false): Rule =>
  (config) => {
    const map = config.message(path) ?? {}
    return Object.keys(map)
      .filter((key) => !isDropped(key, config))
      .sort()
      .map((key) => `${key}=${map[key] as string}`)
      .join(separator)
  }
