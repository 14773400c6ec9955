/** What vitest knows of the modules of this process. */
interface VitestWorker {
  readonly resolvingModules: ReadonlySet<string>
  readonly evaluatedModules: {
    readonly idToModuleMap: ReadonlyMap<string, { readonly promise?: unknown; readonly evaluated?: boolean }>
  }
}

declare const __vitest_worker__: VitestWorker

/** Whether modules are being loaded, as `vi.dynamicImportSettled` knows it: that takes a time that is not virtual. */
export function areImportsUnderWay(): boolean {
  const { resolvingModules, evaluatedModules } = __vitest_worker__
  if (resolvingModules.size > 0) return true
  for (const { promise, evaluated } of evaluatedModules.idToModuleMap.values())
    if (promise !== undefined && evaluated !== true) return true
  return false
}
