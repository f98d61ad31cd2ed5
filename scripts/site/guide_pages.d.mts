export function sections(): Map<string, { section: string; title: string }>;
export function guidePages(): Record<string, string>;
