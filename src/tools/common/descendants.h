/*
 * descendants.h - ending every process that was started from this one.
 */
#ifndef FW_TOOLS_COMMON_DESCENDANTS_H
#define FW_TOOLS_COMMON_DESCENDANTS_H

/*
 * Ends every descendant of this process, which must be a child subreaper
 * (PR_SET_CHILD_SUBREAPER) and must not have children that should survive. Returns when
 * the last one is dead. If that takes longer than FW_LIMIT_PREFLIGHT_END_MS and this
 * process leads its process group, it ends together with the group.
 */
void fw_descendants_end(void);

#endif
