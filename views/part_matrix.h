// The matrix part: one number of each of many items (CPUs) at a glance, either now (one cell each) or over time (one
// row each, one column a frame). For machines whose table does not fit any more: nothing is left out; without room for
// all, a cell stands for several items and shows the highest value.
#ifndef VIEWS_PART_MATRIX_H
#define VIEWS_PART_MATRIX_H

#include "views/view.h"

struct matrix_measure {
    const char *name;    // as shown and chosen: "busy"
    const char *help;    // what it measures, in a few words
    const char *table;   // of the frame; its first column is the item's ID
    const char *columns; // one; with `rest` several, separated by blanks
    bool rest;           // 100 minus the columns
    double full;         // value of the hottest colour; 0: the highest one shown
    enum unit unit;
};

struct matrix_spec {
    const struct matrix_measure *measures; // ends with name NULL; the first table defines the items
    const char *thing;                     // "CPU"
    const char *group;                     // number column of the first table: groups are adjacent; or NULL
    const char *group_name;                // "node"
    uint16_t from;                         // shown by default from this many items on; below, by its key
    const char *list; // the part of the pane with the table: Enter selects the item there; NULL: none
};

extern const struct part_kind part_matrix;

#endif
